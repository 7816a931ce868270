#include <cmath>
#include <random>

#include "numeric/scan.hpp"
#include "support/catch.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// |ln64(x) - ln x| in units of 2^-53 |ln x|.
float relative_error(float x) {
  const long double exact = std::log(static_cast<long double>(x));
  const long double error = std::fabs(static_cast<long double>(numeric::ln64(static_cast<double>(x))) - exact);
  return static_cast<float>(error == 0 ? 0 : error / std::fabs(exact) * 0x1p53l);
}

worst_error scan_every(std::uint64_t stride, float first, float last) {
  return scan<worst_error>(pattern_of(first), pattern_of(last), [stride](auto begin, auto end, worst_error& found) {
    for (auto i = begin; i < end; i += stride) found.note(relative_error(float_of(i)), float_of(i));
  });
}

}  // namespace

TEST_CASE("ln64: within 3 2^-53 of ln x, relatively, for positive floats") {
  // The logarithm in long double takes a hundred times as long as ln64.
  const worst_error found = scan_every(sparse, 0x1p-149f, 0x1.fffffep127f);
  CAPTURE(found.error, found.at);
  CHECK(found.error <= 3.0f);
  CHECK(found.error >= 1.0f);  // or the comparison compares nothing
}

TEST_CASE("ln64: the same for every float near 1, where ln x vanishes") {
  const worst_error found = scan_every(1, 0.998f, 1.002f);
  CAPTURE(found.error, found.at);
  CHECK(found.error <= 3.0f);
}

TEST_CASE("ln64: for doubles that are no floats") {
  std::mt19937_64 random(seed());
  worst_error found;
  for (int i = 0; i < 1'000'000; ++i) {
    // Any normal double: a random pattern with an exponent that is neither the least nor the greatest.
    const std::uint64_t mantissa = random() >> 12, exponent = 1 + random() % 2046;
    const double x = numeric::bits_as<double>(exponent << 52 | mantissa);
    const long double exact = std::log(static_cast<long double>(x));
    const long double error = std::fabs(static_cast<long double>(numeric::ln64(x)) - exact);
    found.note(static_cast<float>(error / std::fabs(exact) * 0x1p53l), static_cast<float>(x));
  }
  CAPTURE(found.error, found.at);
  CHECK(found.error <= 3.0f);
}

TEST_CASE("ln64 at particular points") {
  CHECK(numeric::bits_as<std::uint64_t>(numeric::ln64(1.0)) == 0);  // +0: a single key's lse is its score
  CHECK(numeric::ln64(2.0) == 0x1.62e42fefa39efp-1);
  CHECK(numeric::ln64(0.5) == -0x1.62e42fefa39efp-1);
  CHECK(numeric::ln64(0x1p60) == 60 * 0x1.62e42fefa39efp-1);
  CHECK(std::isnan(numeric::ln64(std::nan(""))));
}

TEST_CASE("log_sum_exp rounds m + ln l once") {
  std::mt19937 random(seed());
  std::uniform_real_distribution<float> exponent(0.0f, 34.0f), max(-1000.0f, 1000.0f);
  for (int i = 0; i < 100'000; ++i) {
    const float m = max(random), l = std::exp2(exponent(random));
    const double exact = static_cast<double>(std::log(static_cast<long double>(l)) + static_cast<long double>(m));
    CAPTURE(m, l);
    REQUIRE(ulps(numeric::log_sum_exp(m, l), exact) <= 0.50001f);
  }
  CHECK(numeric::log_sum_exp(-200.0f, 1.0f) == -200.0f);
  CHECK(std::isnan(numeric::log_sum_exp(NAN, 1.0f)));
  CHECK(std::isnan(numeric::log_sum_exp(0.0f, NAN)));
}
