#include <cmath>

#include "numeric/scan.hpp"
#include "support/catch.hpp"

using namespace tril;
using namespace tril::test;

namespace {

constexpr float lowest = numeric::exp_constants::lowest;

double exact_exp(float x) {
  const double d = x;
  return d > -0x1p-20 ? 1 + d * (1 + d / 2) : std::exp(d);  // the series: below 2^-62 from it, and fast
}

/// What exp32 does between two floats.
struct exp_errors {
  worst_error ulps;
  float smallest = 1, largest = 0;
  std::uint64_t steps_back = 0;    // a larger x gives a smaller result
  std::uint32_t longest_step = 0;  // and by how many floats

  void join(const exp_errors& other) {
    ulps.join(other.ulps);
    smallest = std::min(smallest, other.smallest);
    largest = std::max(largest, other.largest);
    steps_back += other.steps_back;
    longest_step = std::max(longest_step, other.longest_step);
  }
};

/// Patterns of negative floats ascend from -0 downwards.
template <bool Fused>
[[gnu::always_inline]] inline void measure(std::uint64_t begin, std::uint64_t end, std::uint64_t stride,
                                           exp_errors& found) {
  float above = begin == 0x80000000u ? 1.0f : numeric::exp32<Fused>(float_of(begin - 1));
  for (std::uint64_t i = begin; i < end; i += stride) {
    const float x = float_of(i), y = numeric::exp32<Fused>(x);
    found.ulps.note(ulps(y, exact_exp(x)), x);
    found.smallest = std::min(found.smallest, y);
    found.largest = std::max(found.largest, y);
    if (y > above) {
      ++found.steps_back;
      found.longest_step = std::max(found.longest_step, pattern_of(y) - pattern_of(above));
    }
    above = y;
  }
}

TRIL_TEST_FMA void measure_fused(std::uint64_t begin, std::uint64_t end, exp_errors& found) {
  measure<true>(begin, end, 1, found);
}

void measure_fused_sparsely(std::uint64_t begin, std::uint64_t end, exp_errors& found) {
  measure<true>(begin, end, sparse, found);
}

void measure_unfused(std::uint64_t begin, std::uint64_t end, exp_errors& found) {
  measure<false>(begin, end, 1, found);
}

void check(const exp_errors& found, float least, float most) {
  CAPTURE(found.ulps.error, found.ulps.at, found.smallest, found.largest, found.steps_back, found.longest_step);
  CHECK(found.ulps.error <= most);
  CHECK(found.ulps.error >= least);  // the documented figure is measured, not a guess
  CHECK(found.smallest >= 0x1p-126f);
  CHECK(found.largest == 1.0f);
  // Not monotone, but never wrong by more than neighbouring floats changing places.
  CHECK(found.longest_step <= 1);
  CHECK(found.steps_back < 3000);
}

}  // namespace

TEST_CASE("exp32, fused: 0.88 ulp over every float it answers") {
  const exp_errors found =
      scan<exp_errors>(pattern_of(-0.0f), pattern_of(lowest), has_fma() ? measure_fused : measure_fused_sparsely);
  check(found, has_fma() ? 0.88f : 0.85f, 0.885f);
}

TEST_CASE("exp32, unfused: 1.18 ulp over every float it answers") {
  check(scan<exp_errors>(pattern_of(-0.0f), pattern_of(lowest), measure_unfused), 1.17f, 1.18f);
}

TEMPLATE_TEST_CASE_SIG("exp32 at the ends of its range", "", ((bool Fused), Fused), true, false) {
  CHECK(pattern_of(numeric::exp32<Fused>(0.0f)) == pattern_of(1.0f));
  CHECK(pattern_of(numeric::exp32<Fused>(-0.0f)) == pattern_of(1.0f));
  CHECK(numeric::exp32<Fused>(lowest) >= 0x1p-126f);

  const float below = std::nextafter(lowest, -INFINITY);
  CHECK(std::exp(static_cast<double>(below)) < 0x1.00001p-126);  // what is left out is nearly subnormal
  for (const float x :
       {below, -88.0f, -88.5f, -100.0f, -104.0f, -1e4f, -0x1.8p23f, -1e30f, -0x1.fffffep127f, -INFINITY})
    CHECK(pattern_of(numeric::exp32<Fused>(x)) == 0);

  for (const std::uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFF800001u, 0x7FFFFFFFu, 0xFFFFFFFFu})
    CHECK(std::isnan(numeric::exp32<Fused>(float_of(nan))));
}

TEMPLATE_TEST_CASE_SIG("exp32 is +0 for every float below its range", "", ((bool Fused), Fused), true, false) {
  const auto found =
      scan<exceptions>(pattern_of(lowest) + 1, pattern_of(-INFINITY), [](auto begin, auto end, exceptions& nonzero) {
        for (auto i = begin; i < end; i += sparse) nonzero.count += pattern_of(numeric::exp32<Fused>(float_of(i))) != 0;
      });
  CHECK(found.count == 0);
}
