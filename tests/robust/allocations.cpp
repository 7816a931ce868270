#include "robust/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

struct state {
  bool watched = false;
  std::int64_t fail_at = 0, asked = 0, live = 0;
};
thread_local state mine;

/// Counts one allocation, which allocate() makes unless it is the one to fail.
template <class Allocate>
void* allocated(Allocate allocate) noexcept {
  if (!mine.watched) return allocate();
  void* p = mine.asked++ == mine.fail_at ? nullptr : allocate();
  if (p != nullptr) ++mine.live;
  return p;
}

void note_freed(const void* p) noexcept {
  if (mine.watched && p != nullptr) --mine.live;
}

void* or_throw(void* p) {
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

// The linker sends the calls of all objects to __wrap_…, and those to __real_… to the C library; see meson.build.
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t count, std::size_t bytes);
void* __real_realloc(void* p, std::size_t bytes);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void __real_free(void* p);

void* __wrap_malloc(std::size_t bytes);
void* __wrap_calloc(std::size_t count, std::size_t bytes);
void* __wrap_realloc(void* p, std::size_t bytes);
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes);
void __wrap_free(void* p);

void* __wrap_malloc(std::size_t bytes) {
  return allocated([&] { return __real_malloc(bytes); });
}
void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  return allocated([&] { return __real_calloc(count, bytes); });
}
void* __wrap_realloc(void* p, std::size_t bytes) {
  void* moved = allocated([&] { return __real_realloc(p, bytes); });
  if (moved != nullptr) note_freed(p);
  return moved;
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return allocated([&] { return __real_aligned_alloc(alignment, bytes); });
}
void __wrap_free(void* p) {
  note_freed(p);
  __real_free(p);
}
}

// Every form of new and delete: the C++ library's own, which would stand in, are not seen.
using std::align_val_t, std::nothrow_t, std::size_t;

void* operator new(size_t bytes, const nothrow_t&) noexcept { return std::malloc(bytes ? bytes : 1); }
void* operator new(size_t bytes, align_val_t alignment, const nothrow_t&) noexcept {
  const auto align = static_cast<size_t>(alignment);
  return std::aligned_alloc(align, (bytes + align - 1) / align * align);
}
void* operator new(size_t bytes) { return or_throw(operator new(bytes, std::nothrow)); }
void* operator new(size_t bytes, align_val_t align) { return or_throw(operator new(bytes, align, std::nothrow)); }
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new[](size_t bytes, align_val_t align) { return operator new(bytes, align); }
void* operator new[](size_t bytes, const nothrow_t& no) noexcept { return operator new(bytes, no); }
void* operator new[](size_t bytes, align_val_t align, const nothrow_t& no) noexcept {
  return operator new(bytes, align, no);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, const nothrow_t&) noexcept { std::free(p); }

namespace tril::test {

allocation_watch::allocation_watch(std::int64_t fail_at) { mine = {.watched = true, .fail_at = fail_at}; }
allocation_watch::~allocation_watch() { mine = {}; }
std::int64_t allocation_watch::asked() const { return mine.asked; }
std::int64_t allocation_watch::live() const { return mine.live; }

}  // namespace tril::test
