/// Partial results over disjoint keys, joined.

#include "tril/merge.hpp"

#include <algorithm>
#include <cmath>

#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

constexpr double u = 0x1p-24;

/// A partial result: rows in guarded memory.
struct partial {
  float_tensor out, lse;

  partial(std::array<std::int64_t, 3> rows, std::int64_t value_dim, const storage& how = {},
          std::uint32_t fill = canary)
      : out({rows[0], rows[1], rows[2], value_dim}, how, fill), lse({rows[0], rows[1], rows[2], 1}, how, fill) {}
};

constexpr std::array<std::int64_t, 3> few_rows = {2, 5, 3}, many_rows = {1, 150, 2};

partial random_partial(std::array<std::int64_t, 3> rows, std::int64_t value_dim, std::uint32_t seed,
                       const storage& how = {}) {
  partial p(rows, value_dim, how);
  lcg random(seed);
  p.out.for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
    for (float& x : p.out.row(batch, token, head)) x = random.normal();
    p.lse.at(batch, token, head, 0) = 5.0f * random.normal();
  });
  return p;
}

/// Every row is empty.
partial empty_partial(std::array<std::int64_t, 3> rows, std::int64_t value_dim) {
  partial p(rows, value_dim);
  p.out.for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
    std::ranges::fill(p.out.row(batch, token, head), 0.0f);
    p.lse.at(batch, token, head, 0) = -infinity;
  });
  return p;
}

status merge_into(const context& ctx, const partial& result, const std::vector<const partial*>& parts) {
  std::vector<const void*> out;
  std::vector<const float*> lse;
  for (const partial* p : parts) {
    out.push_back(p->out.data());
    lse.push_back(p->lse.data());
  }
  return merge(ctx, out, lse, {result.out.data(), result.out.layout()}, {result.lse.data(), result.lse.layout()});
}

report same_bits(const partial& a, const partial& b) {
  const report lse = compare_bits(a.lse.elements(), b.lse.elements(), 1);
  const auto columns = static_cast<std::size_t>(a.out.layout().extents[3]);
  return lse.ok ? compare_bits(a.out.elements(), b.out.elements(), columns) : lse;
}

partial merged(const context& ctx, const std::vector<const partial*>& parts) {
  const auto& extents = parts[0]->out.layout().extents;
  partial result({extents[0], extents[1], extents[2]}, extents[3]);
  require(merge_into(ctx, result, parts));
  CHECK(result.out.holds_fill_except([](std::int64_t, std::int64_t) { return true; }));
  CHECK(result.lse.holds_fill_except([](std::int64_t, std::int64_t) { return true; }));
  return result;
}

/// One element and one lse, merged.
struct point {
  float out, lse;
  bool operator==(const point& other) const {
    return numeric::bits_as<std::uint32_t>(out) == numeric::bits_as<std::uint32_t>(other.out) &&
           numeric::bits_as<std::uint32_t>(lse) == numeric::bits_as<std::uint32_t>(other.lse);
  }
};

point merged_points(const context& ctx, const std::vector<point>& points) {
  std::vector<partial> parts;
  std::vector<const partial*> pointers;
  for (const point& p : points) {
    parts.emplace_back(std::array<std::int64_t, 3>{1, 1, 1}, 1);
    parts.back().out.at(0, 0, 0, 0) = p.out;
    parts.back().lse.at(0, 0, 0, 0) = p.lse;
  }
  for (const partial& p : parts) pointers.push_back(&p);
  const partial result = merged(ctx, pointers);
  return {result.out.at(0, 0, 0, 0), result.lse.at(0, 0, 0, 0)};
}

/// The partial result of attention to keys first ... last - 1 of a workload that sees all of them.
partial attend(const context& ctx, const workload& w, std::int64_t first, std::int64_t last) {
  const recipe& r = w.made_from();
  partial p({r.batch, r.rows, r.q_heads}, r.value_dim);
  const auto keys = [&](const float_tensor& t) {
    layout l = t.layout();
    l.extents[1] = last - first;
    return tensor{&t.at(0, first, 0, 0), l};
  };
  require(attention(ctx, {w.q.data(), w.q.layout()}, keys(w.k), keys(w.v), {p.out.data(), p.out.layout()},
                    {.causal = false, .lse = {p.lse.data(), p.lse.layout()}}));
  return p;
}

}  // namespace

TEST_CASE("Parts over disjoint keys merge to the undivided result, within the stated bound") {
  const context ctx = context_under_test();
  workload w({.rows = 20, .keys = 600, .q_heads = 2, .dim = 16, .value_dim = 19, .causal = false}, seed());
  const partial whole = attend(ctx, w, 0, 600);
  for (const std::vector<std::int64_t>& cuts :
       {std::vector<std::int64_t>{300}, {1}, {599}, {256, 512}, {3, 4, 5, 6, 100, 599}}) {
    std::vector<partial> parts;
    std::vector<const partial*> pointers;
    for (std::size_t i = 0; i <= cuts.size(); ++i)
      parts.push_back(attend(ctx, w, i == 0 ? 0 : cuts[i - 1], i == cuts.size() ? 600 : cuts[i]));
    for (const partial& p : parts) pointers.push_back(&p);
    const partial joined = merged(ctx, pointers);
    whole.out.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
      const auto lse_of = [&](const partial& p) { return static_cast<double>(p.lse.at(0, row, head, 0)); };
      float largest = 0;
      for (const partial& p : parts)
        for (const float x : p.out.row(0, row, head)) largest = std::max(largest, std::abs(x));
      double out_bound = 0, lse_bound = 0, lse = lse_of(parts[0]);
      for (std::size_t i = 1; i < parts.size(); ++i) {
        const double next = lse_of(parts[i]), m = std::max(lse, next);
        const double sizes = std::abs(lse) + std::abs(next);
        out_bound += (2 * sizes + 16) * u * static_cast<double>(largest);
        lse = m + std::log(std::exp(lse - m) + std::exp(next - m));
        // Of the difference under the exponential, the exponential, the sum, and the result.
        lse_bound += (sizes + 4 + std::abs(lse)) * u;
      }
      REQUIRE(std::abs(lse_of(joined) - lse) <= lse_bound);
      for (std::int64_t c = 0; c < 19; ++c) {
        const double difference =
            static_cast<double>(joined.out.at(0, row, head, c)) - static_cast<double>(whole.out.at(0, row, head, c));
        REQUIRE(std::abs(difference) <= out_bound);
      }
    });
  }
}

TEST_CASE("Merging rounds as it is documented, element by element") {
  const context ctx = context_under_test();
  const bool fused = kernels_of(ctx).fused;
  const auto exp = [&](float x) { return fused ? numeric::exp32<true>(x) : numeric::exp32<false>(x); };
  for (const std::int64_t value_dim : {1, 2, 15, 16, 17, 100, 1024}) {
    const partial a = random_partial(few_rows, value_dim, derived_seed(seed(), 1));
    const partial b = random_partial(few_rows, value_dim, derived_seed(seed(), 2));
    const partial joined = merged(ctx, {&a, &b});
    joined.out.for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
      const float a_lse = a.lse.at(batch, token, head, 0), b_lse = b.lse.at(batch, token, head, 0);
      const float m = std::max(a_lse, b_lse), a_weight = exp(a_lse - m), b_weight = exp(b_lse - m);
      const float sum = a_weight + b_weight;
      REQUIRE(joined.lse.at(batch, token, head, 0) == numeric::log_sum_exp(m, sum));
      for (std::int64_t c = 0; c < value_dim; ++c) {
        const float weighted_a = a_weight * a.out.at(batch, token, head, c);
        const float weighted_b = b_weight * b.out.at(batch, token, head, c);
        REQUIRE(joined.out.at(batch, token, head, c) == (weighted_a + weighted_b) / sum);
      }
    });
  }
}

TEST_CASE("Equal parts give their mean, natural logarithms throughout") {
  const context ctx = context_under_test();
  // Keys 0 ... 2 and 3 ... 15 of sixteen with equal scores, and the value of key j being j.
  const point joined = merged_points(ctx, {{1.0f, std::log(3.0f)}, {9.0f, std::log(13.0f)}});
  CHECK(std::abs(joined.out - 7.5f) <= 1e-6f);
  CHECK(std::abs(joined.lse - std::log(16.0f)) <= 4 * 0x1p-22f);
  CHECK(merged_points(ctx, {{1.0f, -3e38f}, {2.0f, -3e38f}}) == point{1.5f, -3e38f});
  CHECK(merged_points(ctx, {{1.0f, 500.0f}, {2.0f, -500.0f}}) == point{1.0f, 500.0f});
}

TEST_CASE("A part without keys is the identity, bit for bit") {
  const context ctx = context_under_test();
  const partial empty = empty_partial(few_rows, 21);
  const partial a = random_partial(few_rows, 21, derived_seed(seed(), 1));
  const partial b = random_partial(few_rows, 21, derived_seed(seed(), 2));
  require(same_bits(merged(ctx, {&a, &empty}), a));
  require(same_bits(merged(ctx, {&empty, &a}), a));
  require(same_bits(merged(ctx, {&empty, &empty}), empty));
  require(same_bits(merged(ctx, {&a}), a));
  require(same_bits(merged(ctx, {&empty, &a, &empty, &b, &empty}), merged(ctx, {&a, &b})));
  // Also of what no sum would give back as it is.
  for (const float x : {-0.0f, 0x1p-149f, infinity})
    CHECK(merged_points(ctx, {{x, 1.0f}, {0.0f, -infinity}}) == point{x, 1.0f});
  CHECK(merged_points(ctx, {{0.0f, -infinity}, {-0.0f, 1.0f}}) == point{-0.0f, 1.0f});
}

TEST_CASE("Two parts may change places, and more are folded from the left") {
  const context ctx = context_under_test();
  const partial a = random_partial(many_rows, 9, derived_seed(seed(), 1));
  const partial b = random_partial(many_rows, 9, derived_seed(seed(), 2));
  const partial c = random_partial(many_rows, 9, derived_seed(seed(), 3));
  require(same_bits(merged(ctx, {&a, &b}), merged(ctx, {&b, &a})));
  const partial first_two = merged(ctx, {&a, &b});
  require(same_bits(merged(ctx, {&a, &b, &c}), merged(ctx, {&first_two, &c})));
}

TEST_CASE("A NaN or +inf among the lse gives NaN in its row and nowhere else") {
  const context ctx = context_under_test();
  const partial a = random_partial(few_rows, 5, derived_seed(seed(), 1));
  const partial b = random_partial(few_rows, 5, derived_seed(seed(), 2));
  const partial clean = merged(ctx, {&a, &b});
  for (const float lse : {quiet_nan, -quiet_nan, infinity})
    for (const partial* spoiled : {&a, &b}) {
      float& x = spoiled->lse.at(1, 2, 0, 0);
      const float saved = x;
      x = lse;
      const partial joined = merged(ctx, {&a, &b});
      x = saved;
      joined.out.for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
        const bool own = batch == 1 && token == 2 && head == 0;
        for (std::int64_t c = 0; c < 5; ++c) {
          const float expected =
              own ? numeric::bits_as<float>(numeric::canonical_nan_bits) : clean.out.at(batch, token, head, c);
          require(compare_bits({&joined.out.at(batch, token, head, c), 1}, {&expected, 1}, 1));
        }
        REQUIRE(std::isnan(joined.lse.at(batch, token, head, 0)) == own);
      });
    }
}

TEST_CASE("The result may be one of the parts") {
  const context ctx = context_under_test(3);
  for (const std::size_t target : {0u, 1u, 2u}) {
    std::vector<partial> parts;
    for (std::uint32_t i = 0; i < 3; ++i) parts.push_back(random_partial(many_rows, 17, derived_seed(seed(), i)));
    const partial expected = merged(ctx, {&parts[0], &parts[1], &parts[2]});
    require(merge_into(ctx, parts[target], {&parts[0], &parts[1], &parts[2]}));
    require(same_bits(parts[target], expected));
  }
}

TEST_CASE("Threads and storage change no bit of a merge") {
  const context one = context_under_test();
  const partial a = random_partial(many_rows, 12, derived_seed(seed(), 1));
  const partial b = random_partial(many_rows, 12, derived_seed(seed(), 2));
  const partial expected = merged(one, {&a, &b});
  for (const int threads : {2, 3, 7}) require(same_bits(merged(context_under_test(threads), {&a, &b}), expected));
  lcg random(seed());
  for (int i = 0; i < 20; ++i) {
    const storage how = random_storage(random);
    const partial stored_a = random_partial(many_rows, 12, derived_seed(seed(), 1), how);
    const partial stored_b = random_partial(many_rows, 12, derived_seed(seed(), 2), how);
    partial joined(many_rows, 12, how);
    require(merge_into(one, joined, {&stored_a, &stored_b}));
    require(same_bits(joined, expected));
    CHECK(joined.out.holds_fill_except([](std::int64_t, std::int64_t) { return true; }));
  }
}

TEST_CASE("Merging no rows is valid") {
  const context ctx = context_under_test();
  for (const std::array<std::int64_t, 3>& rows : {std::array<std::int64_t, 3>{0, 3, 2}, {2, 0, 2}}) {
    const partial a(rows, 4), b(rows, 4), joined(rows, 4);
    require(merge_into(ctx, joined, {&a, &b}));
  }
}
