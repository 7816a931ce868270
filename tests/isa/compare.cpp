/// A comparison that lets a fault pass would let every kernel pass.

#include "support/compare.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "support/catch.hpp"
#include "support/generators.hpp"

using tril::test::compare_bits;
using tril::test::compare_within;
using tril::test::infinity;
using tril::test::quiet_nan;
using tril::test::report;

namespace {

report one(float actual, double expected, double bound) {
  const float with_a_good_neighbour[] = {1.0f, actual};
  const double expected_values[] = {1.0, expected}, bounds[] = {0.0, bound};
  return compare_within(with_a_good_neighbour, expected_values, bounds, 2);
}

/// Rows of `columns` different numbers.
std::vector<float> ramp(std::size_t count) {
  std::vector<float> x(count);
  std::iota(x.begin(), x.end(), 1.0f);
  return x;
}

std::vector<double> as_double(const std::vector<float>& x) { return {x.begin(), x.end()}; }

}  // namespace

TEST_CASE("A comparison within bounds accepts what is within and nothing else") {
  CHECK(one(2.0f, 2.0, 0.0).ok);
  CHECK(one(2.5f, 2.0, 0.5).ok);
  CHECK_FALSE(one(2.5f, 2.0, 0.499).ok);
  CHECK_FALSE(one(-2.0f, 2.0, 3.9).ok);
}

TEST_CASE("A comparison takes NaN and infinities for what they are") {
  CHECK_FALSE(one(quiet_nan, 1.0, infinity).ok);
  CHECK_FALSE(one(1.0f, quiet_nan, infinity).ok);
  CHECK_FALSE(one(1.0f, 1.0, quiet_nan).ok);
  CHECK_FALSE(one(infinity, 1.0, infinity).ok);
  CHECK_FALSE(one(1.0f, infinity, infinity).ok);
  CHECK_FALSE(one(infinity, -infinity, infinity).ok);
  CHECK_FALSE(one(quiet_nan, infinity, infinity).ok);
  CHECK(one(quiet_nan, quiet_nan, 0.0).ok);
  CHECK(one(-infinity, -infinity, 0.0).ok);
}

TEST_CASE("A comparison rejects arrays that show nothing") {
  const std::vector<float> zeros(6, 0.0f), x = ramp(6);
  const std::vector<double> wide(6, 100.0);
  CHECK_FALSE(compare_within({}, {}, {}, 1).ok);
  CHECK_FALSE(compare_bits({}, {}, 1).ok);
  CHECK_FALSE(compare_within(zeros, as_double(x), wide, 3).ok);
  CHECK(compare_within(zeros, as_double(zeros), wide, 3).ok);
  CHECK(compare_within(zeros, std::vector<double>(6, 1e-60), wide, 3).ok);
  CHECK_FALSE(compare_within(x, as_double(ramp(5)), wide, 3).ok);
  CHECK_FALSE(compare_within(x, as_double(x), std::vector<double>(5, 1.0), 3).ok);
  CHECK_FALSE(compare_bits(x, x, 4).ok);
}

TEST_CASE("A comparison notices rows that are shifted by one") {
  const std::vector<float> x = ramp(12), shifted = {4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3};
  CHECK(compare_bits(x, x, 3).ok);
  CHECK_FALSE(compare_bits(shifted, x, 3).ok);
  CHECK_FALSE(compare_within(shifted, as_double(x), std::vector<double>(12, 1.0), 3).ok);
}

TEST_CASE("A comparison of bits tells zeros and NaNs apart") {
  const auto equal = [](float a, float b) { return compare_bits({&a, 1}, {&b, 1}, 1).ok; };
  CHECK_FALSE(equal(0.0f, -0.0f));
  CHECK_FALSE(equal(quiet_nan, -quiet_nan));
  CHECK(equal(quiet_nan, quiet_nan));
  CHECK_FALSE(equal(1.0f, std::nextafter(1.0f, 2.0f)));
}

TEST_CASE("A report shows the worst row, the signed mean and the surroundings of the first fault") {
  const std::vector<float> expected = ramp(12);
  std::vector<float> actual = expected;
  actual[7] += 0.5f;
  actual[10] += 0.25f;
  const report r = compare_within(actual, as_double(expected), std::vector<double>(12, 0.125), 3);
  CAPTURE(r.text);
  CHECK_FALSE(r.ok);
  CHECK(r.first_fault_row == 2);
  for (const char* part : {"worst row 2, at 4 of its bound", "signed mean error 0.0625 over 12", "2 of 12 elements",
                           "the first is [2][1]", "actual  [2][0...] 7 8.5 9", "expected[1][0...] 4 5 6"})
    CHECK(r.text.find(part) != std::string::npos);
}
