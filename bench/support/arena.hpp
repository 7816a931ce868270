#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "memory/aligned.hpp"

namespace tril::bench {

/// Allocates as an engine's arena for tensors does: on cache lines, and on huge pages where the system grants them.
template <class T>
struct arena_allocator {
  using value_type = T;
  arena_allocator() = default;
  template <class U>
  arena_allocator(const arena_allocator<U>&) {}

  T* allocate(std::size_t count) {
    aligned_bytes bytes = allocate_aligned(count * sizeof(T));
    if (!bytes) throw std::bad_alloc();
    return reinterpret_cast<T*>(bytes.release());
  }
  void deallocate(T* p, std::size_t) { aligned_bytes(reinterpret_cast<std::byte*>(p)); }
  bool operator==(const arena_allocator&) const = default;
};

/// The elements of a tensor.
using elements = std::vector<float, arena_allocator<float>>;

}  // namespace tril::bench
