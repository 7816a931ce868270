#include "accuracy.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"

using namespace tril;
using tool::accuracy, tool::max_ulp, tool::nan_ulp_distance, tool::ulp_distance;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

reference::exact_row exact_row(std::vector<double> out, std::vector<double> bound) {
  return {.out = std::move(out), .lse = 2.0, .out_bound = std::move(bound), .lse_bound = 0.5};
}

accuracy one_value(float actual, double exact, double bound) {
  accuracy a;
  a.add(std::vector{actual}, exact_row({exact}, {bound}));
  return a;
}

}  // namespace

TEST_CASE("ulp count the float32 from one number to another") {
  CHECK(ulp_distance(1.0f, 1.0f) == 0);
  CHECK(ulp_distance(1.0f, std::nextafter(1.0f, 2.0f)) == 1);
  CHECK(ulp_distance(std::nextafter(1.0f, 0.0f), std::nextafter(1.0f, 2.0f)) == 2);
  CHECK(ulp_distance(std::numeric_limits<float>::max(), infinity) == 1);
  CHECK(ulp_distance(1.0f, 2.0f) == 1u << 23);
  CHECK(ulp_distance(2.0f, 1.0f) == 1u << 23);
}

TEST_CASE("ulp are counted across zero, which is one number") {
  constexpr float tiny = std::numeric_limits<float>::denorm_min();
  CHECK(ulp_distance(-0.0f, 0.0f) == 0);
  CHECK(ulp_distance(-0.0f, tiny) == 1);
  CHECK(ulp_distance(-tiny, tiny) == 2);
  CHECK(ulp_distance(-1.0f, 1.0f) == 2u * 0x3F800000u);
  CHECK(ulp_distance(-infinity, infinity) == 2u * 0x7F800000u);
}

TEST_CASE("NaN is further from a number than any other number") {
  CHECK(ulp_distance(not_a_number, -not_a_number) == 0);
  CHECK(ulp_distance(not_a_number, 1.0f) == nan_ulp_distance);
  CHECK(ulp_distance(1.0f, not_a_number) == nan_ulp_distance);
  CHECK(nan_ulp_distance > ulp_distance(-infinity, infinity));
}

TEST_CASE("errors are the largest, their root mean square, and the largest share of a bound") {
  accuracy a;
  a.add(std::vector{1.25f, 2.0f}, exact_row({1.0, 2.0}, {0.5, 0.25}));
  a.add(std::vector{3.0f, 3.875f}, exact_row({3.0, 4.0}, {1.0, 0.15625}));
  CHECK(a.max_abs() == 0.25);
  CHECK(a.rms() == std::sqrt((0.0625 + 0.015625) / 4));
  CHECK(a.bound_used() == 0.8);  // of the smaller error
  CHECK(a.within_bound());
}

TEST_CASE("a bound is broken from the first value beyond it") {
  CHECK(one_value(1.5f, 1.0, 0.5).within_bound());
  CHECK_FALSE(one_value(1.5f, 1.0, 0.49).within_bound());
  CHECK_FALSE(one_value(0.5f, 1.0, 0.49).within_bound());
  CHECK_FALSE(one_value(1e-45f, 0.0, 0.0).within_bound());
  CHECK(one_value(-0.0f, 0.0, 0.0).within_bound());
}

TEST_CASE("the lse has its own bound") {
  const auto exact = exact_row({1.0}, {1e-6});
  accuracy within, beyond;
  within.add_lse(2.25f, exact);
  beyond.add_lse(2.75f, exact);
  CHECK(within.bound_used() == 0.5);
  CHECK(beyond.bound_used() == 1.5);
}

TEST_CASE("NaN and infinity must be where the definition has them") {
  const double inf = std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::quiet_NaN();
  CHECK(one_value(not_a_number, none, none).within_bound());
  CHECK(one_value(infinity, inf, inf).within_bound());
  CHECK_FALSE(one_value(not_a_number, 1.0, 0.5).within_bound());
  CHECK_FALSE(one_value(1.0f, none, none).within_bound());
  CHECK_FALSE(one_value(1.0f, none, 0.0).within_bound());
  CHECK_FALSE(one_value(infinity, 1.0, 0.5).within_bound());
  CHECK_FALSE(one_value(-infinity, 1.0, 0.5).within_bound());
  CHECK(one_value(not_a_number, 1.0, 0.5).max_abs() == inf);
}

TEST_CASE("two float32 results may differ by twice the bound") {
  const auto exact = exact_row({1.0, 1.0}, {0.25, 0.5});
  accuracy a(2);
  a.add_difference(std::vector{0.75f, 1.0f}, std::vector{1.125f, 1.0f}, exact);
  CHECK(a.max_abs() == 0.375);
  CHECK(a.bound_used() == 0.75);
  a.add_difference(std::vector{0.75f, 0.5f}, std::vector{0.75f, 1.5625f}, exact);
  CHECK(a.bound_used() == 1.0625);
  CHECK_FALSE(a.within_bound());
}

TEST_CASE("values below their bound count as near zero, and not for ulp") {
  const auto exact = exact_row({1.0, 0.125, -0.125}, {0.5, 0.25, 0.0625});
  const std::vector out{1.25f, 0.15625f, -0.125f};
  accuracy a;
  a.add(out, exact);
  CHECK(a.bound_used() == 0.5);
  CHECK(a.bound_used_near_zero() == 0.125);
  const std::vector other{std::nextafter(1.25f, 2.0f), -0.15625f, std::nextafter(-0.125f, -1.0f)};
  CHECK(max_ulp(out, other, exact) == 1);
}
