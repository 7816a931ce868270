#include "tool/allocations.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> largest = 0;

}  // namespace

std::size_t tril::test::largest_allocation() { return largest; }
void tril::test::reset_largest_allocation() { largest = 0; }

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  largest = std::max<std::size_t>(largest, bytes);
  return std::malloc(bytes ? bytes : 1);
}
void* operator new(std::size_t bytes) {
  if (void* p = operator new(bytes, std::nothrow)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
