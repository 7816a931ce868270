#include <cmath>

#include "numeric/scan.hpp"
#include "support/catch.hpp"

using namespace tril;
using namespace tril::test;

namespace {

constexpr std::uint32_t sign_bit = 0x80000000u;

constexpr float is_itself = 0x1p-13f;  // below it tanh y is nearer to y than to any other float
constexpr float is_one = 9.02f;        // from here on it is nearer to 1

double exact_tanh(float y) {
  const double d = y, z = d * d;
  if (d >= 0x1p-5) return std::tanh(d);
  return d * (1 - z * (1.0 / 3 - z * (2.0 / 15 - z * (17.0 / 315 - z * 62.0 / 2835))));  // remainder below 2^-56
}

template <bool Fused>
[[gnu::always_inline]] inline void measure(std::uint64_t begin, std::uint64_t end, std::uint64_t stride,
                                           worst_error& found) {
  for (std::uint64_t i = begin; i < end; i += stride) {
    const float y = float_of(i);
    found.note(ulps(numeric::tanh32<Fused>(y), exact_tanh(y)), y);
  }
}

TRIL_TEST_FMA void measure_fused(std::uint64_t begin, std::uint64_t end, worst_error& found) {
  measure<true>(begin, end, 1, found);
}

void measure_fused_sparsely(std::uint64_t begin, std::uint64_t end, worst_error& found) {
  measure<true>(begin, end, sparse, found);
}

void measure_unfused(std::uint64_t begin, std::uint64_t end, worst_error& found) {
  measure<false>(begin, end, 1, found);
}

void check(const worst_error& found, float least, float most) {
  CAPTURE(found.error, found.at);
  CHECK(found.error <= most);
  CHECK(found.error >= least);  // the documented figure is measured, not a guess
}

}  // namespace

TEST_CASE("tanh32, fused: 1.51 ulp over every float from 2^-13 to saturation") {
  const worst_error found =
      scan<worst_error>(pattern_of(is_itself), pattern_of(is_one), has_fma() ? measure_fused : measure_fused_sparsely);
  check(found, has_fma() ? 1.50f : 1.4f, 1.51f);
}

TEST_CASE("tanh32, unfused: 1.57 ulp over every float from 2^-13 to saturation") {
  check(scan<worst_error>(pattern_of(is_itself), pattern_of(is_one), measure_unfused), 1.56f, 1.57f);
}

TEMPLATE_TEST_CASE_SIG("tanh32 is odd", "", ((bool Fused), Fused), true, false) {
  const auto odd = scan<exceptions>(pattern_of(0.0f), pattern_of(INFINITY), [](auto begin, auto end, exceptions& e) {
    for (auto i = begin; i < end; i += sparse)
      e.count += pattern_of(numeric::tanh32<Fused>(float_of(i | sign_bit))) !=
                 (pattern_of(numeric::tanh32<Fused>(float_of(i))) | sign_bit);
  });
  CHECK(odd.count == 0);
}

TEMPLATE_TEST_CASE_SIG("tanh32 of a small argument is the argument", "", ((bool Fused), Fused), true, false) {
  const auto wrong_every = [](std::uint64_t stride, float first, float last) {
    return scan<exceptions>(pattern_of(first), pattern_of(last),
                            [stride](auto begin, auto end, exceptions& e) {
                              for (auto i = begin; i < end; i += stride)
                                e.count += pattern_of(numeric::tanh32<Fused>(float_of(i))) != i;
                            })
        .count;
  };
  CHECK(wrong_every(1, 0.0f, 0x1p-126f) == 0);  // zero and all subnormals
  CHECK(wrong_every(sparse, 0x1p-126f, is_itself) == 0);
}

TEMPLATE_TEST_CASE_SIG("tanh32 saturates, and passes NaN on", "", ((bool Fused), Fused), true, false) {
  const auto large =
      scan<exceptions>(pattern_of(is_one), pattern_of(INFINITY), [](auto begin, auto end, exceptions& e) {
        for (auto i = begin; i < end; i += sparse) e.count += numeric::tanh32<Fused>(float_of(i)) != 1.0f;
      });
  CHECK(large.count == 0);
  CHECK(numeric::tanh32<Fused>(INFINITY) == 1.0f);
  CHECK(numeric::tanh32<Fused>(-INFINITY) == -1.0f);
  for (const std::uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFF800001u, 0x7FFFFFFFu, 0xFFFFFFFFu})
    CHECK(std::isnan(numeric::tanh32<Fused>(float_of(nan))));
}
