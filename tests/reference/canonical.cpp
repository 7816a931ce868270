/// The canonical order against the definition, on random rows.

#include <cmath>
#include <cstdio>

#include "reference/compare.hpp"
#include "reference/inputs.hpp"

using namespace tril;
using namespace tril::test;

namespace {

modifiers any_modifiers(std::mt19937& random) {
  const auto coin = [&random] { return random() % 2 == 0; };
  return {.soft_cap = coin(),
          .bias = coin(),
          .slope = coin(),
          .sink = coin(),
          .mask = coin(),
          .int8_keys = coin(),
          .int8_values = coin(),
          .several_intervals = coin()};
}

template <bool Fused>
double worst_share(int rows, modifiers (*choose)(std::mt19937&)) {
  std::mt19937 random(seed());
  double worst = 0;
  for (int i = 0; i < rows; ++i) {
    const row_inputs r = random_row(random, choose(random));
    CAPTURE(i, r.dim, r.keys, r.soft_cap, r.slope, r.sink, r.bias.size(), r.mask.size(), r.k_scales.size(),
            r.v_scales.size());
    worst = std::max(worst, share_of_bound(reference::canonical<Fused>(r.row()), reference::attention(r.row())));
  }
  return worst;
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("canonical lies within the definition's bound, which is no wider than it need be", "",
                       ((bool Fused), Fused), true, false) {
  const double plain = worst_share<Fused>(500, [](std::mt19937&) { return modifiers{}; });
  const double modified = worst_share<Fused>(2000, any_modifiers);
  std::printf("%s canonical: %.4f of the bound used, %.4f with modifiers\n", Fused ? "fused" : "unfused", plain,
              modified);
  // A bound that is never approached shows nothing.
  CHECK(plain > 0.01);
  CHECK(modified > 0.01);
}

TEST_CASE("the bound is that of float32 arithmetic") {
  std::mt19937 random(seed());
  for (int i = 0; i < 100; ++i) {
    row_inputs r = random_row(random, {});
    for (float& q : r.q) q = std::clamp(q, -1.0f, 1.0f);
    const auto exact = reference::attention(r.row());
    CAPTURE(i, r.dim, r.keys);
    for (const double bound : exact.out_bound) CHECK(bound < 1e-3);
    if (!std::isinf(exact.lse)) CHECK(exact.lse_bound < 1e-3);
  }
}

TEST_CASE("a key with a large negative bias does not widen the bound") {
  // It has no weight, so that the rounding of its score moves nothing.
  for (const float bias : {-1e9f, -1e30f, -largest}) {
    row_inputs r = row_with_scores({1.0f, 2.0f, 3.0f});
    r.v = {1.0f, -1.0f, 0.5f};
    r.bias = {0.0f, bias, 0.0f};
    const auto exact = reference::attention(r.row());
    CAPTURE(bias);
    CHECK(exact.out_bound[0] < 1e-3);
    CHECK(exact.lse_bound < 1e-3);
  }
}
