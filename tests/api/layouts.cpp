/// Where the tensors lie does not matter: strides, alignment, views of one another.

#include <algorithm>
#include <limits>

#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

constexpr std::int64_t rows = 5, many_rows = 30, keys = 40, q_heads = 4, kv_heads = 2, dim = 12, value_dim = 20;

recipe small(std::int64_t row_count) {
  return {.batch = 2,
          .rows = row_count,
          .keys = keys,
          .q_heads = q_heads,
          .kv_heads = kv_heads,
          .dim = dim,
          .value_dim = value_dim};
}

/// The call with layouts of the test's own; `w` provides the rest.
status run_with(const context& ctx, workload& w, tensor q, tensor k, tensor v) {
  w.out.reset(canary);
  w.lse.reset(canary);
  return attention(ctx, q, k, v, {w.out.data(), w.out.layout()}, {.lse = {w.lse.data(), w.lse.layout()}});
}

tensor view(const float_tensor& t) { return {t.data(), t.layout()}; }

}  // namespace

TEST_CASE("Every storage gives the same bits") {
  const context ctx = context_under_test();
  const storage storages[] = {token_major,
                              head_major,
                              {.order = {1, 0, 2}},
                              {.order = {2, 1, 0}},
                              {.padding = 5},
                              {.order = {0, 2, 1}, .padding = 1},
                              {.lead = 1},
                              {.lead = 1, .where = touching::start},
                              {.reversed = {true, true, true}, .padding = 3},
                              {.order = {2, 0, 1}, .reversed = {false, true, false}, .where = touching::start}};
  for (const std::int64_t row_count : {rows, many_rows}) {
    workload plain(small(row_count), seed());
    require(verify(ctx, plain));
    for (const storage& how : storages)
      for (storage recipe::*which :
           {&recipe::q_storage, &recipe::k_storage, &recipe::v_storage, &recipe::out_storage, &recipe::lse_storage}) {
        recipe r = small(row_count);
        r.*which = how;
        workload w(r, seed());
        INFO(w.text());
        require(verify(ctx, w));
        require(compare_bits(results_of(w), results_of(plain)));
      }
  }
}

TEST_CASE("Queries, keys and values may be views of one buffer") {
  const context ctx = context_under_test();
  for (const std::int64_t row_count : {rows, many_rows}) {
    // [tokens][q heads, then K heads, then V heads][dim], as one matrix product makes them.
    workload plain(
        {.rows = row_count, .keys = row_count, .q_heads = q_heads, .kv_heads = kv_heads, .dim = dim, .value_dim = dim},
        seed());
    require(verify(ctx, plain));
    const float_tensor fused({1, row_count, q_heads + 2 * kv_heads, dim}, {}, poison);
    const auto part_of = [&](const float_tensor& t, std::int64_t first_head) {
      t.for_each_row([&](std::int64_t, std::int64_t token, std::int64_t head) {
        std::ranges::copy(t.row(0, token, head), fused.row(0, token, first_head + head).begin());
      });
      layout l = fused.layout();
      l.extents[2] = t.layout().extents[2];
      return tensor{&fused.at(0, 0, first_head, 0), l};
    };
    workload w(plain.made_from(), seed());
    require(run_with(ctx, w, part_of(plain.q, 0), part_of(plain.k, q_heads), part_of(plain.v, q_heads + kv_heads)));
    require(compare_bits(results_of(w), results_of(plain)));
  }
}

TEST_CASE("An output may lie between the heads of an input that it does not touch") {
  const context ctx = context_under_test();
  workload plain({.rows = rows, .keys = rows, .q_heads = q_heads, .dim = dim, .value_dim = dim}, seed());
  require(verify(ctx, plain));
  // [tokens][q heads, then out heads][dim].
  const float_tensor fused({1, rows, 2 * q_heads, dim}, {}, canary);
  plain.q.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
    std::ranges::copy(plain.q.row(0, row, head), fused.row(0, row, head).begin());
  });
  layout half = fused.layout();
  half.extents[2] = q_heads;
  require(attention(ctx, {fused.data(), half}, view(plain.k), view(plain.v), {&fused.at(0, 0, q_heads, 0), half}));
  plain.out.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
    require(compare_bits(fused.row(0, row, q_heads + head), plain.out.row(0, row, head), dim));
    require(compare_bits(fused.row(0, row, head), plain.q.row(0, row, head), dim));
  });
}

TEST_CASE("Strides of extents of one are never looked at") {
  const context ctx = context_under_test();
  constexpr std::int64_t absurd[] = {0, -7, std::numeric_limits<std::int64_t>::max() / 8,
                                     std::numeric_limits<std::int64_t>::min()};
  for (const std::int64_t stride : absurd) {
    CAPTURE(stride);
    workload w({.dim = 1, .value_dim = 1}, seed());
    require(verify(ctx, w));
    const float_rows expected = results_of(w);
    const auto strange = [&](const float_tensor& t) {
      layout l = t.layout();
      std::ranges::fill(l.strides, stride);
      return mutable_tensor{t.data(), l};
    };
    w.out.reset(canary);
    w.lse.reset(canary);
    require(attention(ctx, strange(w.q), strange(w.k), strange(w.v), strange(w.out), {.lse = strange(w.lse)}));
    require(compare_bits(results_of(w), expected));
  }
}

TEST_CASE("Inputs may have strides of zero") {
  const context ctx = context_under_test();
  for (const std::int64_t row_count : {rows, many_rows})
    for (const int axis : {0, 1, 2}) {
      CAPTURE(row_count, axis);
      // What is read again and again, written out.
      workload w(small(row_count), seed());
      for (const float_tensor* t : {&w.q, &w.k, &w.v})
        t->for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
          const std::int64_t from[] = {axis == 0 ? 0 : batch, axis == 1 ? 0 : token, axis == 2 ? 0 : head};
          std::ranges::copy(t->row(from[0], from[1], from[2]), t->row(batch, token, head).begin());
        });
      require(verify(ctx, w));
      const float_rows expected = results_of(w);
      const auto repeated = [&](const float_tensor& t) {
        layout l = t.layout();
        l.strides[axis] = 0;
        return tensor{t.data(), l};
      };
      require(run_with(ctx, w, repeated(w.q), repeated(w.k), repeated(w.v)));
      require(compare_bits(results_of(w), expected));
    }
}

TEST_CASE("No lse is asked for: the same output") {
  const context ctx = context_under_test();
  for (const std::int64_t row_count : {rows, many_rows}) {
    workload w(small(row_count), seed());
    require(verify(ctx, w));
    const std::vector<float> expected = w.out.elements();
    w.out.reset(canary);
    require(attention(ctx, view(w.q), view(w.k), view(w.v), {w.out.data(), w.out.layout()}));
    require(compare_bits(w.out.elements(), expected, value_dim));
  }
}

TEST_CASE("Extents of zero are valid, their pointers may be null, and nothing is written") {
  const context ctx = context_under_test();
  const struct { std::int64_t batch, rows, keys; } cases[] = {{0, 3, 5}, {2, 0, 5}, {2, 3, 0}, {0, 0, 0}};
  for (const auto& c : cases) {
    CAPTURE(c.batch, c.rows, c.keys);
    workload w({.batch = c.batch, .rows = c.rows, .keys = c.keys}, seed());
    require(verify(ctx, w));
    const auto null_if_empty = [](const float_tensor& t) {
      return mutable_tensor{t.elements().empty() ? nullptr : t.data(), t.layout()};
    };
    w.out.reset(canary);
    w.lse.reset(canary);
    require(attention(ctx, null_if_empty(w.q), null_if_empty(w.k), null_if_empty(w.v), null_if_empty(w.out),
                      {.lse = null_if_empty(w.lse)}));
    CHECK(w.out.holds_fill_except([](std::int64_t, std::int64_t) { return true; }));
    for (const float x : w.out.elements()) CHECK(numeric::bits_as<std::uint32_t>(x) == 0);
  }
}
