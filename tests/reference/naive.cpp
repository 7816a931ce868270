/// What a textbook writes is right as well, only slower.

#include <cmath>

#include "reference/naive.hpp"

#include "reference/compare.hpp"
#include "reference/inputs.hpp"

using namespace tril;
using namespace tril::test;

namespace {

using naive = void (*)(const reference::row&, float* scores, float* out);

std::vector<float> output(naive compute, const row_inputs& inputs) {
  const reference::row r = inputs.row();
  std::vector<float> scores(static_cast<std::size_t>(r.keys)), out(static_cast<std::size_t>(r.value_dim), not_a_number);
  compute(r, scores.data(), out.data());
  return out;
}

constexpr naive all_of_them[] = {reference::plain::naive_masked, reference::plain::naive_truncated,
                                 reference::vectorised::naive_masked, reference::vectorised::naive_truncated};

}  // namespace

TEST_CASE("naive attention agrees with the definition, and with itself to the bit") {
  std::mt19937 random(seed());
  double worst = 0;
  for (int i = 0; i < 300; ++i) {
    row_inputs r = random_row(random, {});
    const auto exact = reference::attention(r.row());
    const std::vector<float> first = output(all_of_them[0], r);
    CAPTURE(i, r.dim, r.keys);
    for (std::size_t c = 0; c < first.size(); ++c) {
      float largest_value = 0;
      r.row().for_each_visible(
          [&](std::int64_t j) { largest_value = std::max(largest_value, std::abs(r.value(j)[c])); });
      // Its sums run over all keys one by one, where the canonical order has 16 lanes and splits.
      const double bound =
          exact.out_bound[c] + 2 * static_cast<double>(r.keys) * 0x1p-24 * static_cast<double>(largest_value);
      const double error = std::abs(static_cast<double>(first[c]) - exact.out[c]);
      REQUIRE(error <= bound);
      if (error > 0) worst = std::max(worst, error / bound);
    }
    for (const naive other : all_of_them) {
      const std::vector<float> out = output(other, r);
      for (std::size_t c = 0; c < first.size(); ++c) REQUIRE(out[c] == first[c]);
    }
  }
  CHECK(worst > 1e-4);
}

TEST_CASE("naive attention gives zeros to a row that sees nothing") {
  row_inputs r = row_with_scores({1.0f, 2.0f}, 2);
  r.v = {1.0f, 2.0f, 3.0f, 4.0f};
  for (const naive compute : all_of_them) {
    r.visible = {};
    CHECK(output(compute, r) == std::vector<float>{0.0f, 0.0f});
    r.visible = {{1, 1}};
    CHECK(output(compute, r) == std::vector<float>{0.0f, 0.0f});
  }
}

TEST_CASE("truncated attention stops where the row stops looking") {
  row_inputs r = row_with_scores({1.0f, 2.0f, 3.0f});
  r.v = {1.0f, 2.0f, 3.0f};
  r.visible = {{0, 2}};
  const std::vector<float> clean = output(reference::plain::naive_truncated, r);
  r.k[2] = r.v[2] = not_a_number;
  CHECK(output(reference::plain::naive_truncated, r) == clean);
}
