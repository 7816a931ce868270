#pragma once

#include "tril/tril.h"

namespace tril::api {

/// Success.
inline tril_status ok() noexcept { return {}; }

/// A failure, its sentence in the manner of printf: "argument: what is wrong with it".
[[gnu::format(printf, 2, 3)]] tril_status failure(tril_code code, const char* format, ...) noexcept;

}  // namespace tril::api
