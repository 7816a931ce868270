/// Equal rows give equal bits, whatever call they are part of.

#include <algorithm>
#include <numeric>

#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// Which keys a chunk of rows is given: those up to its last row, or all, with an explicit offset.
enum class keys_of_chunk { so_far, all };

/// Rows first ... last - 1 of a causal sequence, as a call of their own.
float_rows chunk(const context& ctx, const workload& whole, std::int64_t first, std::int64_t last,
                 keys_of_chunk given) {
  recipe r = whole.made_from();
  r.rows = last - first;
  if (given == keys_of_chunk::so_far)
    r.keys = last;
  else
    r.query_offset = {static_cast<std::int32_t>(first)};
  workload w(r, 0);
  for (std::int64_t row = 0; row < r.rows; ++row)
    for (std::int64_t head = 0; head < r.q_heads; ++head)
      std::ranges::copy(whole.q.row(0, first + row, head), w.q.row(0, row, head).begin());
  for (std::int64_t key = 0; key < r.keys; ++key)
    for (std::int64_t head = 0; head < r.kv_heads; ++head) {
      std::ranges::copy(whole.k.row(0, key, head), w.k.row(0, key, head).begin());
      std::ranges::copy(whole.v.row(0, key, head), w.v.row(0, key, head).begin());
    }
  require(w.run(ctx));
  return results_of(w);
}

void append(std::vector<float>& to, const std::vector<float>& from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

TEST_CASE("Prefill, chunked prefill and decode agree, bit for bit") {
  const context ctx = context_under_test();
  constexpr std::int64_t tokens = 530;
  for (const window& w : {window{}, window{.left = 200}}) {
    workload whole(
        {.rows = tokens, .keys = tokens, .q_heads = 4, .kv_heads = 2, .dim = 9, .value_dim = 18, .window = w}, seed());
    require(verify(ctx, whole));
    const float_rows expected = results_of(whole);
    std::vector<std::int64_t> one_by_one(tokens, 1), by_tens(53, 10);
    for (const std::vector<std::int64_t>& chunks : {std::vector<std::int64_t>{256, 256, 18},
                                                    {257, 273},
                                                    {1, tokens - 1},
                                                    {tokens - 1, 1},
                                                    {16, 17, 250, 247},
                                                    by_tens,
                                                    one_by_one}) {
      for (const keys_of_chunk given : {keys_of_chunk::so_far, keys_of_chunk::all}) {
        float_rows joined;
        std::int64_t first = 0;
        for (const std::int64_t count : chunks) {
          const float_rows part = chunk(ctx, whole, first, first + count, given);
          append(joined.out, part.out);
          append(joined.lse, part.lse);
          first += count;
        }
        REQUIRE(first == tokens);
        require(compare_bits(joined, expected));
      }
    }
  }
}

TEST_CASE("More keys and values than are kept packed at once give the same bits") {
  const context ctx = context_under_test();
  // 72 MB of them, packed in two goes; seventeen rows are packed for, eight are not.
  workload whole({.rows = 17, .keys = 2200, .q_heads = 4, .kv_heads = 4, .dim = 1024, .value_dim = 1024}, seed());
  CHECK(plan(ctx, whole.problem()).stages() > 2);
  require(whole.run(ctx));
  const float_rows expected = results_of(whole);
  const std::int64_t first_position = whole.made_from().keys - whole.made_from().rows;
  whole.out.reset(canary);
  whole.lse.reset(canary);
  for (const auto& [first, last] : {std::pair{0, 8}, std::pair{8, 17}}) {
    layout rows = whole.q.layout(), out_rows = whole.out.layout(), lse_rows = whole.lse.layout();
    rows.extents[1] = out_rows.extents[1] = lse_rows.extents[1] = last - first;
    const std::int32_t offset[] = {static_cast<std::int32_t>(first_position + first)};
    require(attention(ctx, {&whole.q.at(0, first, 0, 0), rows}, {whole.k.data(), whole.k.layout()},
                      {whole.v.data(), whole.v.layout()}, {&whole.out.at(0, first, 0, 0), out_rows},
                      {.query_offset = offset, .lse = {&whole.lse.at(0, first, 0, 0), lse_rows}}));
  }
  require(compare_bits(results_of(whole), expected));
}

TEST_CASE("A sequence has the same bits in a batch and alone") {
  const context ctx = context_under_test();
  const recipe batch = {.batch = 7,
                        .rows = 30,
                        .keys = 700,
                        .q_heads = 4,
                        .kv_heads = 2,
                        .dim = 10,
                        .value_dim = 17,
                        .q_lengths = {1, 30, 5, 0, 2, 17, 1},
                        .kv_lengths = {700, 30, 1, 5, 257, 400, 3}};
  workload together(batch, seed());
  require(verify(ctx, together));
  for (std::int64_t sequence = 0; sequence < batch.batch; ++sequence) {
    const std::int64_t rows = together.rows_of(sequence);
    if (rows == 0) continue;
    CAPTURE(sequence);
    recipe r = batch;
    const auto i = static_cast<std::size_t>(sequence);
    r.batch = 1;
    r.rows = rows;
    r.keys = batch.kv_lengths[i];
    r.q_lengths.clear();
    r.kv_lengths.clear();
    workload alone(r, 0);
    const auto take = [&](const float_tensor& to, const float_tensor& from) {
      to.for_each_row([&](std::int64_t, std::int64_t token, std::int64_t head) {
        std::ranges::copy(from.row(sequence, token, head), to.row(0, token, head).begin());
      });
    };
    take(alone.q, together.q);
    take(alone.k, together.k);
    take(alone.v, together.v);
    require(alone.run(ctx));
    alone.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
      require(compare_bits(alone.out.row(0, row, head), together.out.row(sequence, row, head), 17));
      REQUIRE(alone.lse.at(0, row, head, 0) == together.lse.at(sequence, row, head, 0));
    });
  }
}

TEST_CASE("Heads of a group have the bits of heads with keys of their own") {
  const context ctx = context_under_test();
  for (const std::int64_t group : {2, 3, 5, 8})
    for (const std::int64_t rows : {1, 4, 35}) {
      CAPTURE(group, rows);
      recipe r = {.rows = rows, .keys = 300, .q_heads = 2 * group, .kv_heads = 2, .dim = 8, .value_dim = 11};
      workload shared(r, seed());
      require(verify(ctx, shared));
      r.kv_heads = r.q_heads;
      workload repeated(r, seed());
      repeated.k.for_each_row([&](std::int64_t, std::int64_t key, std::int64_t head) {
        std::ranges::copy(shared.k.row(0, key, head / group), repeated.k.row(0, key, head).begin());
        std::ranges::copy(shared.v.row(0, key, head / group), repeated.v.row(0, key, head).begin());
      });
      require(repeated.run(ctx));
      require(compare_bits(results_of(repeated), results_of(shared)));
    }
}

TEST_CASE("Any number of threads gives the same bits, many times over") {
  const recipe prefill = {.batch = 2, .rows = 70, .keys = 600, .q_heads = 4, .kv_heads = 2, .dim = 16, .value_dim = 20};
  recipe decode = prefill, one_head = prefill, few_tokens = prefill;
  decode.rows = 1;
  decode.keys = 3000;
  one_head.batch = one_head.q_heads = one_head.kv_heads = 1;
  one_head.rows = 2;
  one_head.keys = 5000;
  few_tokens.rows = 3;
  few_tokens.kv_lengths = {600, 0};
  for (const recipe& r : {prefill, decode, one_head, few_tokens}) {
    workload w(r, seed());
    require(verify(context_under_test(1), w));
    const float_rows expected = results_of(w);
    for (const int threads : {2, 3, 7}) {
      const context ctx = context_under_test(threads);
      CAPTURE(threads, ctx.isa());
      for (int repetition = 0; repetition < 5; ++repetition) {
        require(w.run(ctx));
        require(compare_bits(results_of(w), expected));
      }
    }
  }
}
