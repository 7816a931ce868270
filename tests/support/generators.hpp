#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tril::test {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();

/// A linear congruential generator: the same integers, and so the same exact floats, everywhere.
class lcg {
 public:
  explicit lcg(std::uint32_t seed) : state_(seed) {}

  std::uint32_t next() { return state_ = state_ * 1664525u + 1013904223u; }
  /// In [-1, 1), a multiple of 2^-23.
  float unit() { return 2.0f * static_cast<float>(next() >> 8) * 0x1p-24f - 1.0f; }
  /// In [0, count).
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>((std::uint64_t{next()} * static_cast<std::uint64_t>(count)) >> 32);
  }
  /// In [first, last].
  std::int64_t between(std::int64_t first, std::int64_t last) { return first + below(last - first + 1); }
  bool one_in(std::int64_t count) { return below(count) == 0; }
  /// Mean 0, variance 1: the sum of twelve uniform numbers.
  float normal();

 private:
  std::uint32_t state_;
};

/// A seed of its own for the i-th of many things: neighbouring seeds of an lcg give similar numbers.
std::uint32_t derived_seed(std::uint32_t seed, std::uint32_t i);

/// What the values of a tensor are like.
enum class values { uniform, lognormal, spikes, constant, alternating, sorted, subnormal, inf, nan };

inline constexpr values all_values[] = {values::uniform,   values::lognormal,   values::spikes,
                                        values::constant,  values::alternating, values::sorted,
                                        values::subnormal, values::inf,         values::nan};
const char* name_of(values kind);
constexpr bool is_finite(values kind) { return kind != values::inf && kind != values::nan; }

/// `count` values of a kind.
std::vector<float> generate(values kind, std::size_t count, std::uint32_t seed);

}  // namespace tril::test
