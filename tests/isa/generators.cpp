#include "support/generators.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/catch.hpp"
#include "support/shapes.hpp"

using namespace tril::test;

TEST_CASE("The integer generator is the published one") {
  lcg random(1);
  CHECK(random.next() == 1015568748u);
  CHECK(random.next() == 1586005467u);
}

TEST_CASE("Normal numbers have mean 0 and variance 1") {
  constexpr int count = 100000;
  lcg random(seed());
  double sum = 0, squares = 0;
  for (int i = 0; i < count; ++i) {
    const auto x = static_cast<double>(random.normal());
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / count) < 6 / std::sqrt(count));
  CHECK(std::abs(squares / count - 1) < 6 * std::sqrt(2.0 / count));
}

TEST_CASE("Generators make what their names say") {
  const auto all = [](values kind, auto holds) { return std::ranges::all_of(generate(kind, 1000, seed()), holds); };
  const auto some = [](values kind, auto holds) { return std::ranges::any_of(generate(kind, 1000, seed()), holds); };
  const auto finite = [](float x) { return std::isfinite(x); };
  const auto subnormal = [](float x) { return x == 0.0f || std::fpclassify(x) == FP_SUBNORMAL; };
  for (const values kind : all_values) {
    CAPTURE(name_of(kind));
    CHECK(all(kind, finite) == is_finite(kind));
    CHECK(some(kind, [](float x) { return x != 0.0f; }));
  }
  CHECK(all(values::subnormal, subnormal));
  CHECK(some(values::inf, [](float x) { return x == -HUGE_VALF; }));
  CHECK(some(values::nan, [](float x) { return std::isnan(x); }));
  CHECK(std::ranges::is_sorted(generate(values::sorted, 1000, seed())));
  CHECK(some(values::lognormal, [](float x) { return std::abs(x) > 5.0f; }));
  CHECK(some(values::spikes, [](float x) { return std::abs(x) > 8.0f; }));
}

TEST_CASE("Sizes around a tile are tails, whole tiles and their neighbours") {
  CHECK(around(16) == std::vector<std::int64_t>{1, 15, 16, 17, 31, 32, 33});
  CHECK(around(2) == std::vector<std::int64_t>{1, 2, 3, 4, 5});
}
