/// Scores that are large, very negative, far apart or many.

#include <algorithm>
#include <cmath>

#include "api/seen.hpp"
#include "cases/inputs.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// Every row's first element becomes `first`, and the others zero.
void make_first(const float_tensor& t, float first) {
  t.for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
    const std::span<float> row = t.row(batch, token, head);
    const bool unseen = std::isnan(row[0]);
    if (unseen) return;
    std::ranges::fill(row, 0.0f);
    row[0] = first;
  });
}

/// Rows that see the keys 2i of score 0 and value 0, and 2i + 1 of score `score` and value 1: the weight of the latter.
float weight_beside_zero(const context& ctx, float score, std::int64_t rows) {
  workload w({.rows = rows, .keys = 64, .dim = 4, .value_dim = 20, .causal = false, .scale = 1.0f}, 0);
  make_first(w.q, 1.0f);
  w.k.for_each_row([&](std::int64_t, std::int64_t key, std::int64_t) {
    std::ranges::fill(w.k.row(0, key, 0), 0.0f);
    std::ranges::fill(w.v.row(0, key, 0), static_cast<float>(key % 2));
    if (key % 2 == 1) w.k.at(0, key, 0, 0) = score;
  });
  require(w.run(ctx));
  const std::vector<float> out = w.out.elements();
  require(compare_bits(out, std::vector<float>(out.size(), out[0]), 20));
  return out[0];
}

}  // namespace

TEST_CASE("A maximum that is still that of blocks without a visible key") {
  const context ctx = context_under_test();
  recipe r = {.rows = 88, .keys = 448, .q_heads = 14, .kv_heads = 2, .dim = 64, .value_dim = 64, .scale = 1.0f};
  for (const std::int64_t width : {0, 32, 300}) {
    r.window = {.left = width - 1};
    workload w(r, 0);
    make_first(w.q, 1.0f);
    make_first(w.k, -200.0f);
    make_index_values(w.v);
    require(w.run(ctx));
    w.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
      const std::int64_t last = r.keys - r.rows + row, first = width == 0 ? 0 : last - width + 1;
      CAPTURE(width, row, head);
      require(compare_bits(w.out.row(0, row, head), index_means(first, last, r.value_dim), 64));
      REQUIRE(w.lse.at(0, row, head, 0) ==
              static_cast<float>(-200.0 + std::log(static_cast<double>(last - first + 1))));
    });
  }
}

TEST_CASE("Equal scores so large that a product rounded twice is not the one rounded once") {
  const context ctx = context_under_test();
  constexpr float large = 133120.0f;
  for (const std::int64_t keys : {1, 16, 17, 300})
    for (const std::int64_t rows : {1, 20})
      for (const float scale : {0.125f, 0.088388346f, 0.3f}) {
        workload w({.rows = rows, .keys = keys, .dim = 64, .value_dim = 64, .causal = false, .scale = scale}, 0);
        for (const float_tensor* t : {&w.q, &w.k, &w.v})
          t->for_each_row(
              [&](std::int64_t, std::int64_t token, std::int64_t) { std::ranges::fill(t->row(0, token, 0), large); });
        require(verify(ctx, w));
        const std::vector<float> out = w.out.elements();
        require(compare_bits(out, std::vector<float>(out.size(), large), 64));
      }
}

TEST_CASE("Opposite scores whose products are beyond half precision") {
  const context ctx = context_under_test();
  for (const std::int64_t rows : {1, 20}) {
    workload w({.rows = rows, .keys = 2, .dim = 128, .value_dim = 3, .causal = false}, 0);
    w.q.for_each_row(
        [&](std::int64_t, std::int64_t row, std::int64_t) { std::ranges::fill(w.q.row(0, row, 0), 256.0f); });
    for (const std::int64_t key : {0, 1}) {
      std::ranges::fill(w.k.row(0, key, 0), key == 0 ? 256.0f : -256.0f);
      std::ranges::fill(w.v.row(0, key, 0), static_cast<float>(key + 1));
    }
    require(verify(ctx, w));
    for (const float x : w.out.elements()) CHECK(x == 1.0f);
  }
}

TEST_CASE("A sum of weights that stops growing on a long row") {
  const context ctx = context_under_test();
  for (const std::int64_t keys : {256, 257, 2048, 2049, 4096, 70000})
    for (const std::int64_t rows : {1, 5}) {
      CAPTURE(keys, rows);
      workload w({.rows = rows, .keys = keys, .dim = 8, .value_dim = 8, .causal = false}, 0);
      make_zero(w.q);
      make_index_values(w.v);
      require(w.run(ctx));
      for (std::int64_t row = 0; row < rows; ++row) {
        REQUIRE(w.out.at(0, row, 0, 2) == 1.0f);
        REQUIRE(w.out.at(0, row, 0, 3) == static_cast<float>(keys / 2) / static_cast<float>(keys));
        REQUIRE(w.lse.at(0, row, 0, 0) == static_cast<float>(std::log(static_cast<double>(keys))));
      }
    }
}

TEST_CASE("An exponential that is wrong in some lanes, not monotone, or ends in anything but zero") {
  const context ctx = context_under_test();
  for (const std::int64_t rows : {1, 20}) {
    float above = 1.0f;
    for (const float score : {-1e-8f, -1e-3f, -0.34657f, -1.0f, -6.58261f, -10.0f, -20.0f, -50.0f, -87.0f, -87.33f,
                              -88.0f, -88.37f, -90.0f, -103.0f, -104.0f, -1e30f}) {
      CAPTURE(score, rows);
      const float weight = weight_beside_zero(ctx, score, rows);
      const double e = std::exp(static_cast<double>(score)), exact = e / (1 + e);
      if (score >= -87.3f)
        CHECK(std::abs(static_cast<double>(weight) - exact) <= 4 * 0x1p-23 * exact);
      else
        CHECK((weight >= 0.0f && static_cast<double>(weight) <= exact * (1 + 4 * 0x1p-23)));
      CHECK(weight <= above);
      above = weight;
    }
    CHECK(above == 0.0f);
  }
}
