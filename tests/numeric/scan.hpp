#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "numeric/canon.hpp"

/// Marks a function that is only called where has_fma() holds: in it a fused multiply-add is an instruction.
#if defined(__x86_64__)
#define TRIL_TEST_FMA [[gnu::target("fma")]]
#else
#define TRIL_TEST_FMA
#endif

namespace tril::test {

/// Whether this machine has a fused multiply-add; without it one takes a library call.
inline bool has_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}

/// Where every float would take too long: each 61st meets every exponent more than 10^5 times.
inline constexpr std::uint64_t sparse = 61;

inline std::uint32_t pattern_of(float x) { return numeric::bits_as<std::uint32_t>(x); }
inline float float_of(std::uint64_t pattern) { return numeric::bits_as<float>(static_cast<std::uint32_t>(pattern)); }

/// |y - exact| in units of the last place that a float has at the exact value, which is normal.
inline float ulps(float y, double exact) {
  constexpr std::uint64_t exponent = 0x7FF0000000000000u;
  const double ulp = 0x1p-23 * numeric::bits_as<double>(numeric::bits_as<std::uint64_t>(exact) & exponent);
  return static_cast<float>(__builtin_fabs(static_cast<double>(y) - exact) / ulp);
}

/// The largest error seen, and where. NaN is larger than any number.
struct worst_error {
  float error = 0;
  float at = 0;

  void note(float e, float where) {
    // As integers, which order floats that are not negative and put NaN behind them all.
    if (pattern_of(e) <= pattern_of(error)) return;
    error = e;
    at = where;
  }
  void join(const worst_error& other) { note(other.error, other.at); }
};

/// How many floats break a rule.
struct exceptions {
  std::uint64_t count = 0;
  void join(const exceptions& other) { count += other.count; }
};

/// Visits the bit patterns first ... last on two threads: visit(begin, end, found) looks at those of
/// begin ... end - 1. Returns all that was found, joined.
template <class Found, class Visit>
Found scan(std::uint32_t first, std::uint32_t last, Visit visit) {
  constexpr std::uint64_t piece = 1 << 20;
  const std::uint64_t behind = std::uint64_t{last} + 1;
  std::atomic<std::uint64_t> next = first;
  const auto visit_pieces = [&](Found& found) {
    for (std::uint64_t begin; (begin = next.fetch_add(piece)) < behind;)
      visit(begin, std::min(begin + piece, behind), found);
  };
  Found found, others;
  std::thread other([&] { visit_pieces(others); });
  visit_pieces(found);
  other.join();
  found.join(others);
  return found;
}

}  // namespace tril::test
