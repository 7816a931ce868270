#include "support/guarded.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace tril::test {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

guarded_memory::guarded_memory(std::size_t bytes, touching where, std::uint32_t fill) : bytes_(bytes) {
  const std::size_t page = page_bytes();
  const std::size_t readable = (bytes + page - 1) / page * page;
  mapped_bytes_ = readable + 2 * page;
  void* mapping = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  if (readable > 0 && mprotect(mapping_ + page, readable, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  data_ = mapping_ + page + (where == touching::end ? readable - bytes : 0);
  reset(fill);
}

guarded_memory::~guarded_memory() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

guarded_memory::guarded_memory(guarded_memory&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      data_(other.data_),
      bytes_(other.bytes_) {}

std::span<std::uint32_t> guarded_memory::reachable_words() const {
  const std::size_t page = page_bytes();
  return {reinterpret_cast<std::uint32_t*>(mapping_ + page), (mapped_bytes_ - 2 * page) / sizeof(std::uint32_t)};
}

}  // namespace tril::test
