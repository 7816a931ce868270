#pragma once

#include "tril/tril.h"

namespace tril {

inline constexpr int version_major = TRIL_VERSION_MAJOR;  ///< Major version of these headers.
inline constexpr int version_minor = TRIL_VERSION_MINOR;  ///< Minor version.
inline constexpr int version_patch = TRIL_VERSION_PATCH;  ///< Patch level.

/// The version of the library that was linked, "0.1.0".
inline const char* version() noexcept { return tril_version(); }

}  // namespace tril
