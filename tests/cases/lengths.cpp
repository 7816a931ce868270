/// Sequences of a batch that are shorter than its tensors, each by another length.

#include "cases/inputs.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// Keys and values beyond the lengths of their sequences hold `value`.
void fill_unused(const workload& w, float value) {
  for (const float_tensor* t : {&w.k, &w.v})
    t->for_each_row([&](std::int64_t sequence, std::int64_t key, std::int64_t head) {
      if (key >= w.kv_lengths[static_cast<std::size_t>(sequence)])
        std::ranges::fill(t->row(sequence, key, head), value);
    });
}

/// The results of a sequence's rows.
float_rows rows_of(const workload& w, std::int64_t sequence) {
  float_rows rows;
  w.for_each_row([&](std::int64_t of, std::int64_t row, std::int64_t head) {
    if (of != sequence) return;
    const std::span<float> out = w.out.row(of, row, head);
    rows.out.insert(rows.out.end(), out.begin(), out.end());
    rows.lse.push_back(w.lse.at(of, row, head, 0));
  });
  return rows;
}

/// What a call gives for a sequence of the batch alone.
float_rows alone(const context& ctx, const workload& together, std::int64_t sequence) {
  recipe r = together.made_from();
  r.batch = 1;
  for (auto* lengths : {&r.q_lengths, &r.kv_lengths})
    if (!lengths->empty()) *lengths = {(*lengths)[static_cast<std::size_t>(sequence)]};
  workload w(r, 0);
  const auto copy = [&](const float_tensor& to, const float_tensor& from) {
    to.for_each_row([&](std::int64_t, std::int64_t token, std::int64_t head) {
      std::ranges::copy(from.row(sequence, token, head), to.row(0, token, head).begin());
    });
  };
  copy(w.q, together.q);
  copy(w.k, together.k);
  copy(w.v, together.v);
  require(w.run(ctx));
  return rows_of(w, 0);
}

}  // namespace

TEST_CASE("Slots of a cache that nobody has filled, and that are read") {
  const context ctx = context_under_test();
  recipe r = {.rows = 1, .keys = 128, .q_heads = 8, .kv_heads = 8, .dim = 64, .value_dim = 64};
  for (const std::vector<std::int32_t>& lengths : {std::vector<std::int32_t>{32, 64, 96, 48}, {1, 3}})
    for (const std::int64_t rows : {1, 30}) {
      r.batch = std::ssize(lengths);
      r.rows = rows;
      r.kv_lengths = lengths;
      workload w = random_workload(r);
      fill_unused(w, 0.0f);
      require(verify(ctx, w));
      const float_rows expected = results_of(w);
      for (const float unused : {quiet_nan, numeric::bits_as<float>(poison), infinity, -infinity, 1e30f}) {
        CAPTURE(unused);
        fill_unused(w, unused);
        require(w.run(ctx));
        require(compare_bits(results_of(w), expected));
      }
    }
}

TEST_CASE("An empty sequence that is skipped with its neighbours' rows, or written to") {
  const context ctx = context_under_test();
  using lengths = std::vector<std::int32_t>;
  const struct {
    lengths rows, keys;
  } cases[] = {{{3, 0, 5}, {4, 0, 6}}, {{3, 2, 5}, {4, 0, 6}}, {{3, 0, 5}, {4, 7, 6}}, {{0, 3, 5}, {0, 4, 6}},
               {{3, 5, 0}, {4, 6, 0}}, {{5, 0, 0}, {7, 0, 0}}, {{0, 0, 5}, {0, 0, 7}}, {{0, 0, 0}, {0, 0, 0}},
               {{0, 0, 0}, {4, 5, 6}}, {{3, 2, 5}, {0, 0, 0}}};
  for (const auto& c : cases) {
    recipe r = {.batch = 3, .rows = 5, .keys = 7, .q_heads = 4, .kv_heads = 2, .dim = 8, .value_dim = 8};
    r.q_lengths = c.rows;
    r.kv_lengths = c.keys;
    workload w = random_workload(r);
    INFO(w.text());
    require(verify(ctx, w));
    for (std::int64_t sequence = 0; sequence < 3; ++sequence)
      if (c.rows[static_cast<std::size_t>(sequence)] > 0)
        require(compare_bits(rows_of(w, sequence), alone(ctx, w, sequence)));
    w.for_each_row([&](std::int64_t sequence, std::int64_t row, std::int64_t head) {
      if (c.keys[static_cast<std::size_t>(sequence)] > 0) return;
      for (const float x : w.out.row(sequence, row, head)) REQUIRE(numeric::bits_as<std::uint32_t>(x) == 0);
      REQUIRE(w.lse.at(sequence, row, head, 0) == -infinity);
    });
  }
}

TEST_CASE("A step of sequences of different lengths that now and then gives NaN") {
  recipe r = {.batch = 3, .rows = 1, .q_heads = 6, .kv_heads = 2, .dim = 40, .value_dim = 40};
  for (const std::vector<std::int32_t>& lengths : {std::vector<std::int32_t>{1, 5, 9}, {9, 1, 5}, {128, 1, 127}})
    for (const int threads : {1, 3}) {
      const context ctx = context_under_test(threads);
      r.kv_lengths = lengths;
      r.keys = *std::ranges::max_element(lengths);
      workload w = random_workload(r);
      require(verify(ctx, w));
      for (std::int64_t sequence = 0; sequence < 3; ++sequence)
        require(compare_bits(rows_of(w, sequence), alone(ctx, w, sequence)));
      const float_rows expected = results_of(w);
      for (int repetition = 0; repetition < 100; ++repetition) {
        require(w.run(ctx));
        require(compare_bits(results_of(w), expected));
      }
    }
}
