#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

namespace tril::test {

/// A fuzzer's bytes as a sequence of choices. When they run out, every choice is the plainest: 0, the first, no.
class choices {
 public:
  choices(const std::uint8_t* bytes, std::size_t size) : next_(bytes), last_(bytes + size) {}

  std::uint8_t byte() { return next_ == last_ ? std::uint8_t{0} : *next_++; }
  std::uint32_t word() { return static_cast<std::uint32_t>(pair()) << 16 | static_cast<std::uint32_t>(pair()); }

  /// In [0, count), count at most 65536.
  std::int64_t below(std::int64_t count) { return (count <= 256 ? byte() : pair()) % count; }
  /// In [first, last].
  std::int64_t between(std::int64_t first, std::int64_t last) { return first + below(last - first + 1); }
  bool one_in(std::int64_t count) { return below(count) == count - 1; }

  /// Any number at all, one at which arithmetic turns more often than others.
  std::int64_t any() {
    constexpr std::int64_t turns[] = {0,
                                      -1,
                                      1,
                                      2,
                                      1024,
                                      1025,
                                      std::numeric_limits<std::int32_t>::max(),
                                      std::numeric_limits<std::int32_t>::min(),
                                      std::int64_t{1} << 32,
                                      std::int64_t{1} << 34,
                                      std::int64_t{1} << 60,
                                      std::int64_t{1} << 61,
                                      std::numeric_limits<std::int64_t>::max(),
                                      std::numeric_limits<std::int64_t>::min()};
    const auto i = static_cast<std::size_t>(below(std::size(turns) + 1));
    if (i < std::size(turns)) return turns[i];
    const std::uint64_t high = word();
    return std::bit_cast<std::int64_t>(high << 32 | word());
  }

 private:
  int pair() {
    const int high = byte() << 8;
    return high | byte();
  }

  const std::uint8_t *next_, *last_;
};

}  // namespace tril::test
