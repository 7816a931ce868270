#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tril {

inline constexpr std::size_t cache_line = 64;

struct free_aligned {
  void operator()(std::byte* p) const noexcept { std::free(p); }
};
using aligned_bytes = std::unique_ptr<std::byte[], free_aligned>;

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

inline constexpr std::size_t largest_allocation = std::size_t{1} << 40;  // an absurd size is not even asked for

/// Memory on a cache line, or null. Large pieces ask for huge pages: every block of rows walks through all packed
/// panels, and each of 64 columns of values is a small page to look up.
inline aligned_bytes allocate_aligned(std::size_t bytes) noexcept {
  if (bytes > largest_allocation) return nullptr;
  const std::size_t alignment = bytes >= huge_page ? huge_page : cache_line;
  const std::size_t rounded = bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded);
#if defined(__linux__)
  if (p && alignment == huge_page) madvise(p, rounded, MADV_HUGEPAGE);  // a wish
#endif
  return aligned_bytes(static_cast<std::byte*>(p));
}

}  // namespace tril
