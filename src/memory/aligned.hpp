#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace tril {

inline constexpr std::size_t cache_line = 64;

struct free_aligned {
  void operator()(std::byte* p) const noexcept { std::free(p); }
};
using aligned_bytes = std::unique_ptr<std::byte[], free_aligned>;

/// Memory on a cache line, or null.
inline aligned_bytes allocate_aligned(std::size_t bytes) noexcept {
  const std::size_t rounded = (bytes + cache_line - 1) / cache_line * cache_line;
  if (rounded < bytes) return nullptr;
  return aligned_bytes(static_cast<std::byte*>(std::aligned_alloc(cache_line, rounded ? rounded : cache_line)));
}

}  // namespace tril
