/// What holds for attention whatever the numbers are.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "api/seen.hpp"
#include "reference/attention.hpp"
#include "support/require.hpp"
#include "support/shapes.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

constexpr double u = 0x1p-24;

/// The relative error of a weighted mean whose weights are exact: 16 lane sums of 16, a tree of 4, 256 products, the
/// merges of the splits and the division.
double error_of_mean(std::int64_t keys) {
  const auto splits = static_cast<double>((keys + numeric::split_keys - 1) / numeric::split_keys);
  const double roundings = 280 + 4 * splits;
  return roundings * u / (1 - roundings * u);
}

/// Calls of few rows and of many, with keys that end inside and outside panels and splits.
std::vector<recipe> full_recipes() {
  std::vector<recipe> recipes;
  for (const std::int64_t rows : {2, 20})
    for (const std::int64_t keys : {1, 3, 16, 17, 255, 256, 257, 600})
      recipes.push_back({.rows = rows, .keys = keys, .q_heads = 2, .dim = 12, .value_dim = 20, .causal = false});
  return recipes;
}

/// Moves key i, with its value, to where key order[i] was.
void permute(const float_tensor& t, const std::vector<std::int64_t>& order) {
  const std::vector<float> before = t.elements();
  const auto columns = static_cast<std::size_t>(t.layout().extents[3]);
  for (std::size_t i = 0; i < order.size(); ++i)
    std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(order[i]) * columns), columns,
                t.row(0, static_cast<std::int64_t>(i), 0).begin());
}

std::vector<std::int64_t> shuffled(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  lcg random(seed());
  for (std::int64_t i = count - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.below(i + 1))]);
  return order;
}

/// Sample variance of numbers, their mean being 0.
double variance(const std::vector<float>& x) {
  double squares = 0;
  for (const float value : x) squares += static_cast<double>(value) * static_cast<double>(value);
  return squares / static_cast<double>(x.size());
}

}  // namespace

TEST_CASE("One visible key gives its value, and its score as lse") {
  const context ctx = context_under_test();
  for (const values kind : all_values) {
    if (kind == values::nan || kind == values::inf) continue;
    for (const std::int64_t rows : {3, 40}) {
      workload w({.rows = rows, .keys = rows, .q_heads = 2, .value_dim = 37, .window = {.left = 0}, .v = kind}, seed());
      require(verify(ctx, w));
      w.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
        const std::span<float> value = w.v.row(0, row, 0);
        REQUIRE(std::ranges::equal(w.out.row(0, row, head), value));
      });
    }
  }
}

TEST_CASE("Equal scores give exact means where sums are exact, however large the scores") {
  const context ctx = context_under_test();
  // What a fused subtraction of an unrounded product would give weights other than 1; and what is far below a maximum
  // that starts at 0.
  for (const float score : {0.0f, -200.0f, 1.134e12f, 3e38f, -3e38f})
    for (const recipe& r : full_recipes()) {
      workload w(r, seed());
      make_zero(w.q);
      w.q.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) { w.q.at(0, row, head, 0) = 1.0f; });
      lcg random(seed());
      std::vector<double> sums(static_cast<std::size_t>(r.value_dim));
      for (std::int64_t key = 0; key < r.keys; ++key) {
        w.k.at(0, key, 0, 0) = score;
        for (std::int64_t c = 0; c < r.value_dim; ++c) {
          const auto value = static_cast<float>(random.between(-1000, 1000));
          w.v.at(0, key, 0, c) = value;
          sums[static_cast<std::size_t>(c)] += static_cast<double>(value);
        }
      }
      require(verify(ctx, w));
      const auto count = static_cast<float>(r.keys);
      w.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
        for (std::int64_t c = 0; c < r.value_dim; ++c)
          REQUIRE(w.out.at(0, row, head, c) == static_cast<float>(sums[static_cast<std::size_t>(c)]) / count);
      });
    }
}

TEST_CASE("A constant value comes out as it went in, up to the roundings of a mean") {
  const context ctx = context_under_test();
  for (recipe r : full_recipes()) {
    r.v = values::constant;
    workload w(r, seed());
    require(w.run(ctx));
    const auto constant = static_cast<double>(w.v.at(0, 0, 0, 0));
    for (const float x : w.out.elements())
      REQUIRE(std::abs(static_cast<double>(x) - constant) <= error_of_mean(r.keys) * std::abs(constant));
  }
}

TEST_CASE("Every element lies between the least and the greatest value of its column") {
  const context ctx = context_under_test();
  for (recipe r : full_recipes())
    for (const values scores : {values::uniform, values::spikes, values::lognormal}) {
      r.k = scores;
      r.v = values::lognormal;
      workload w(r, seed());
      require(w.run(ctx));
      for (std::int64_t c = 0; c < r.value_dim; ++c) {
        float least = infinity, greatest = -infinity;
        for (std::int64_t key = 0; key < r.keys; ++key) {
          least = std::min(least, w.v.at(0, key, 0, c));
          greatest = std::max(greatest, w.v.at(0, key, 0, c));
        }
        const double slack = error_of_mean(r.keys) * static_cast<double>(std::max(std::abs(least), std::abs(greatest)));
        w.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
          const auto x = static_cast<double>(w.out.at(0, row, head, c));
          REQUIRE((x >= static_cast<double>(least) - slack && x <= static_cast<double>(greatest) + slack));
        });
      }
    }
}

TEST_CASE("The order of the visible keys does not matter beyond the bound") {
  const context ctx = context_under_test();
  for (const recipe& r : full_recipes()) {
    workload w(r, seed());
    require(w.run(ctx));
    const std::vector<float> before = w.out.elements();
    const std::vector<std::int64_t> order = shuffled(r.keys);
    permute(w.k, order);
    permute(w.v, order);
    require(verify(ctx, w));
    const std::vector<float> after = w.out.elements();
    std::size_t i = 0;
    w.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
      const auto exact = reference::attention(reference::row_of(w.problem(), w.data(), 0, row, head));
      for (const double bound : exact.out_bound) {
        REQUIRE(std::abs(static_cast<double>(after[i]) - static_cast<double>(before[i])) <= 2 * bound);
        ++i;
      }
    });
  }
}

TEST_CASE("Adding a number to all scores changes lse by it and nothing else beyond the bound") {
  const context ctx = context_under_test();
  for (recipe r : full_recipes())
    for (const float shift : {-20.0f, 3.0f, 500.0f}) {
      r.scale = 0.25f;
      workload w(r, seed());
      const auto last = r.dim - 1;
      w.q.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) { w.q.at(0, row, head, last) = 4.0f; });
      for (std::int64_t key = 0; key < r.keys; ++key) w.k.at(0, key, 0, last) = 0.0f;
      require(w.run(ctx));
      const float_rows before = results_of(w);
      for (std::int64_t key = 0; key < r.keys; ++key) w.k.at(0, key, 0, last) = shift;
      require(verify(ctx, w));
      const float_rows after = results_of(w);
      std::size_t i = 0, element = 0;
      w.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
        // The shifted scores are the larger ones, and theirs the larger bound.
        const auto exact = reference::attention(reference::row_of(w.problem(), w.data(), 0, row, head));
        const double moved = static_cast<double>(after.lse[i]) - static_cast<double>(before.lse[i]);
        REQUIRE(std::abs(moved - static_cast<double>(shift)) <= 2 * exact.lse_bound);
        ++i;
        for (const double bound : exact.out_bound) {
          REQUIRE(std::abs(static_cast<double>(after.out[element]) - static_cast<double>(before.out[element])) <=
                  2 * bound);
          ++element;
        }
      });
    }
}

TEST_CASE("Doubling the values doubles the output, bit for bit") {
  const context ctx = context_under_test();
  for (const recipe& r : full_recipes()) {
    workload w(r, seed());
    require(w.run(ctx));
    std::vector<float> doubled = w.out.elements();
    for (float& x : doubled) x *= 2.0f;
    w.v.for_each_row([&](std::int64_t, std::int64_t key, std::int64_t head) {
      for (float& x : w.v.row(0, key, head)) x *= 2.0f;
    });
    require(w.run(ctx));
    require(compare_bits(w.out.elements(), doubled, static_cast<std::size_t>(r.value_dim)));
  }
}

TEST_CASE("The scale multiplies the queries, once") {
  const context ctx = context_under_test();
  for (const std::int64_t dim : {1, 2, 16, 33}) {
    const auto with_scale = [&](std::optional<float> scale, float q_factor) {
      workload w({.rows = 5, .keys = 30, .dim = dim, .value_dim = 9, .scale = scale}, seed());
      w.q.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
        for (float& x : w.q.row(0, row, head)) x *= q_factor;
      });
      require(verify(ctx, w));
      return results_of(w);
    };
    CAPTURE(dim);
    require(compare_bits(with_scale(0.3f, 1.0f), with_scale(1.0f, 0.3f)));
    require(compare_bits(with_scale(-2.0f, 1.0f), with_scale(1.0f, -2.0f)));
    require(compare_bits(with_scale(0.0f, 1.0f), with_scale(1.0f, 0.0f)));
    const auto root = static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim)));
    require(compare_bits(with_scale({}, 1.0f), with_scale(root, 1.0f)));
  }
}

TEST_CASE("Scores of normal inputs have variance sigma^4, and dim sigma^4 without the scale") {
  const context ctx = context_under_test();
  constexpr std::int64_t rows = 4000, heads = 4, dim = 24;
  // A row that sees one key has that key's score as its lse: each row is one sample.
  for (const float sigma : {1.0f, 3.0f})
    for (const bool scaled : {true, false}) {
      workload w({.rows = rows,
                  .keys = rows,
                  .q_heads = heads,
                  .kv_heads = heads,
                  .dim = dim,
                  .value_dim = 1,
                  .window = {.left = 0},
                  .scale = scaled ? std::nullopt : std::optional(1.0f)},
                 seed());
      lcg random(derived_seed(seed(), static_cast<std::uint32_t>(sigma)));
      for (const float_tensor* t : {&w.q, &w.k})
        t->for_each_row([&](std::int64_t, std::int64_t token, std::int64_t head) {
          for (float& x : t->row(0, token, head)) x = sigma * random.normal();
        });
      require(w.run(ctx));
      const double measured = variance(w.lse.elements());
      const double expected = std::pow(static_cast<double>(sigma), 4) * (scaled ? 1 : dim);
      // Squares of sums of 24 products of normals have a relative deviation of sqrt(2 + 6 / 24); five of those.
      const double deviation = std::sqrt((2 + 6.0 / dim) / (rows * heads));
      CAPTURE(sigma, scaled, measured);
      CHECK(std::abs(measured / expected - 1) < 5 * deviation);
    }
}

TEST_CASE("Weights sum to one, which those of a softmax over all keys do not once the future is cut off") {
  const context ctx = context_under_test();
  const auto row_sums = [&](bool causal) {
    workload w({.rows = 40, .keys = 40, .dim = 8, .value_dim = 40, .causal = causal}, seed());
    make_one_hot(w.v);
    require(w.run(ctx));
    std::vector<double> sums;
    for (std::int64_t row = 0; row < 40; ++row) {
      double sum = 0;
      for (std::int64_t key = 0; key <= row; ++key) sum += static_cast<double>(w.out.at(0, row, 0, key));
      sums.push_back(sum);
    }
    return sums;
  };
  const std::vector<double> ours = row_sums(true), cut_off = row_sums(false);
  for (std::size_t row = 0; row < 40; ++row) {
    CHECK(std::abs(ours[row] - 1) <= error_of_mean(40));
    if (row < 39) CHECK(cut_off[row] < 1 - 10 * error_of_mean(40));
  }
}
