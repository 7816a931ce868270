#include <algorithm>

#include "kernels/kernels.hpp"
#include "support/catch.hpp"
#include "support/generators.hpp"
#include "support/guarded.hpp"

using namespace tril;
using namespace tril::test;
using contract::panel_keys;

namespace {

struct weights_of_row {
  std::vector<float> weights;
  float max, sum;
};

/// Step 5 of the canonical order.
weights_of_row expected_weights(bool fused, const std::vector<float>& scores) {
  weights_of_row r{scores, -infinity, 0.0f};
  for (const float score : scores) r.max = std::max(r.max, score);
  const float shift = r.max > -infinity ? r.max : 0.0f;
  float lanes[panel_keys] = {};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    r.weights[i] = exp32(fused, scores[i] - shift);
    lanes[i % panel_keys] += r.weights[i];
  }
  for (int half = panel_keys / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  r.sum = lanes[0];
  return r;
}

weights_of_row actual_weights(const contract::kernel_table& kernels, const std::vector<float>& scores) {
  const guarded<float> in_place{std::span<const float>(scores)};
  contract::softmax_args args = {in_place.data(), static_cast<std::int32_t>(scores.size()) / panel_keys, 0.0f, 0.0f};
  kernels.softmax(args);
  return {{in_place.span().begin(), in_place.span().end()}, args.max, args.sum};
}

bool same_bits(float a, float b) { return bits(a) == bits(b); }

void check(const contract::kernel_table& kernels, const std::vector<float>& scores) {
  const weights_of_row actual = actual_weights(kernels, scores), expected = expected_weights(kernels.fused, scores);
  REQUIRE(actual.max == expected.max);
  REQUIRE(same_bits(actual.sum, expected.sum));
  REQUIRE(std::ranges::equal(actual.weights, expected.weights, same_bits));
}

}  // namespace

TEST_CASE("softmax takes the canonical steps") {
  const contract::kernel_table& kernels = kernels_under_test();
  for (std::size_t panels = 1; panels <= contract::panels_per_split; ++panels)
    for (const values kind : {values::uniform, values::lognormal, values::spikes, values::sorted, values::constant})
      for (const float spread : {1.0f, 30.0f, 200.0f}) {
        CAPTURE(panels, name_of(kind), spread);
        std::vector<float> scores = generate(kind, panels * panel_keys, seed());
        for (float& score : scores) score *= spread;
        check(kernels, scores);
        lcg random(seed());
        for (float& score : scores)
          if (random.one_in(3)) score = -infinity;
        check(kernels, scores);
      }
}

TEST_CASE("softmax of hidden keys is zero weights and a sum of zero") {
  const contract::kernel_table& kernels = kernels_under_test();
  for (std::size_t panels = 1; panels <= contract::panels_per_split; ++panels) {
    std::vector<float> scores(panels * panel_keys, -infinity);
    check(kernels, scores);
    CHECK(actual_weights(kernels, scores).sum == 0.0f);
    // One that is not hidden, in every place.
    for (float& score : scores) {
      score = -3e38f;
      check(kernels, scores);
      score = -infinity;
    }
  }
}

TEST_CASE("softmax keeps a NaN or +inf in any lane") {
  const contract::kernel_table& kernels = kernels_under_test();
  for (const std::size_t panels : {1u, 2u, 16u})
    for (const float others : {-infinity, 0.0f, 3.0f})
      for (const float value : {quiet_nan, -quiet_nan, infinity})
        for (std::size_t i = 0; i < panels * panel_keys; ++i) {
          std::vector<float> scores(panels * panel_keys, others);
          scores[i] = value;
          const weights_of_row actual = actual_weights(kernels, scores);
          CAPTURE(panels, others, value, i);
          REQUIRE(actual.sum != actual.sum);
          REQUIRE(actual.weights[i] != actual.weights[i]);
        }
}

TEST_CASE("exp is exp32, element by element") {
  const contract::kernel_table& kernels = kernels_under_test();
  std::vector<float> x = {0.0f, -0.0f, -infinity, -87.33654f, -87.336545f, -88.0f, -1e30f, -0x1p-149f, quiet_nan};
  for (int i = 0; i < 100000; ++i) x.push_back(-90.0f * static_cast<float>(i) / 100000.0f);
  x.resize((x.size() + panel_keys - 1) / panel_keys * panel_keys, -1.0f);
  const guarded<float> y{std::span<const float>(x)};
  kernels.exp(y.data(), std::ssize(x));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float expected = exp32(kernels.fused, x[i]);
    CAPTURE(x[i]);
    REQUIRE((expected != expected ? y[i] != y[i] : same_bits(y[i], expected)));
  }
}
