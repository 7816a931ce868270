#pragma once

#include <cstddef>
#include <cstring>

#include "api/status.hpp"

namespace tril::api {

/// Reads a caller's struct that may be from an older or newer header than this library's, or end early.
/// `first_bytes` is where the fields end that every caller gives. Fields beyond its end keep the value they have in
/// `full`; fields that the library does not know must be zero.
template <class T>
tril_status read_sized(const T* callers, const char* name, std::size_t first_bytes, T& full) noexcept {
  if (callers == nullptr) return failure(TRIL_INVALID_ARGUMENT, "%s: null", name);
  const std::size_t bytes = callers->struct_size;
  if (bytes < first_bytes || bytes % alignof(T) != 0)
    return failure(TRIL_INVALID_ARGUMENT, "%s: struct_size %zu is no size of it; start from its _INIT", name, bytes);
  const auto* raw = reinterpret_cast<const unsigned char*>(callers);
  for (std::size_t i = sizeof(T); i < bytes; ++i)
    if (raw[i] != 0) return failure(TRIL_UNSUPPORTED, "%s: has fields that this library does not know", name);
  std::memcpy(static_cast<void*>(&full), callers, bytes < sizeof(T) ? bytes : sizeof(T));
  return ok();
}

}  // namespace tril::api
