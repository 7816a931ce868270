#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tril::test {

/// Fills of memory that nobody has written: a NaN that shows if it is read, and one that shows if it is overwritten,
/// for no result of the library has its bits.
inline constexpr std::uint32_t poison = 0xFFFFFFFFu;
inline constexpr std::uint32_t canary = 0x7FA5A5A5u;

/// Which end of a buffer is next to an unreadable page.
enum class touching { end, start };

/// Memory between two unreadable pages. It touches one of them; what is left of its own pages holds the fill.
class guarded_memory {
 public:
  /// `bytes` is a multiple of 4.
  guarded_memory(std::size_t bytes, touching where, std::uint32_t fill);
  ~guarded_memory();
  guarded_memory(guarded_memory&& other) noexcept;
  guarded_memory& operator=(guarded_memory&&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

  /// All the words that it could be written to by mistake without a fault, those of data() among them.
  std::span<std::uint32_t> reachable_words() const;

  /// Everything holds `fill`.
  void reset(std::uint32_t fill) { std::ranges::fill(reachable_words(), fill); }

 private:
  std::byte* mapping_;
  std::size_t mapped_bytes_;
  std::byte* data_;
  std::size_t bytes_;
};

/// An array in guarded memory.
template <class T>
class guarded {
 public:
  explicit guarded(std::size_t count, touching where = touching::end, std::uint32_t fill = poison)
      : memory_(count * sizeof(T), where, fill) {}
  explicit guarded(std::span<const T> values, touching where = touching::end) : guarded(values.size(), where) {
    std::ranges::copy(values, data());
  }

  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  std::span<T> span() const { return {data(), memory_.size() / sizeof(T)}; }
  T& operator[](std::size_t i) const { return data()[i]; }
  const guarded_memory& memory() const { return memory_; }

 private:
  guarded_memory memory_;
};

}  // namespace tril::test
