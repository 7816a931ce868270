#include "support/attention_case.hpp"

#include <algorithm>

#include "support/computed.hpp"

namespace tril::bench {
namespace {

std::size_t count_of(const layout& l) {
  return static_cast<std::size_t>(l.extents[0] * l.extents[1] * l.extents[2] * l.extents[3]);
}

problem problem_of(const setting& s) {
  const tool::preset& m = s.what.model;
  const std::int64_t batch = s.what.sequences(), rows = s.rows();
  return {.q = tril_bthd(TRIL_F32, batch, rows, m.q_heads, m.dim),
          .kv = {.k = tril_bthd(TRIL_F32, batch, s.tokens, m.kv_heads, m.dim),
                 .v = tril_bthd(TRIL_F32, batch, s.tokens, m.kv_heads, m.value_dim),
                 .lengths = s.what.lengths},
          .out = tril_bthd(TRIL_F32, batch, rows, m.q_heads, m.value_dim),
          .visibility = {.causal = m.causal, .window = {.left = m.window_left}, .q_lengths = s.what.lengths},
          .scale = m.scale != 0 ? std::optional(m.scale) : std::nullopt};
}

}  // namespace

attention_case::attention_case(const setting& s)
    : ctx_({.isa = s.isa.c_str(), .threads = s.threads}),
      isa_(s.isa),
      shape_(problem_of(s)),
      takes_(cost_of(shape_)),
      plan_(ctx_, shape_),
      workspace_(allocate_aligned(plan_.workspace_bytes())) {
  q_ = normal_values(count_of(shape_.q), 1);
  k_ = normal_values(count_of(shape_.kv.k), 2);
  v_ = normal_values(count_of(shape_.kv.v), 3);
  out_.resize(count_of(shape_.out));
  data_ = {.q = q_.data(),
           .kv = {k_.data(), v_.data()},
           .out = out_.data(),
           .workspace = workspace_.get(),
           .workspace_bytes = plan_.workspace_bytes()};
}

double attention_case::run() const {
  const double begin = now();
  const status done = plan_.run(data_);
  return done ? now() - begin : -1;
}

double attention_case::naive_rate(void (*naive)(const reference::row&, float*, float*)) const {
  constexpr std::int64_t rows = 16;
  const auto lengths = shape_.visibility.q_lengths;
  const auto longest = std::max_element(lengths.begin(), lengths.end());
  const std::int64_t sequence = longest - lengths.begin(), heads = shape_.q.extents[2];
  const std::int64_t tokens = lengths.empty() ? shape_.q.extents[1] : *longest;
  std::vector<float> scores(static_cast<std::size_t>(shape_.kv.k.extents[1]));
  std::vector<float> out(static_cast<std::size_t>(shape_.out.extents[3]));
  double pairs = 0, seconds = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const reference::row r =
        reference::row_of(shape_, data_, sequence, (2 * i + 1) * tokens / (2 * rows), i * heads / rows);
    const double begin = now();
    naive(r, scores.data(), out.data());
    seconds += now() - begin;
    for (const auto& seen : r.visible) pairs += static_cast<double>(seen.last - seen.first);
  }
  return 2 * static_cast<double>(shape_.q.extents[3] + shape_.out.extents[3]) * pairs / seconds;
}

double attention_case::computed_over_visible() const {
  double ratio = 0;
  (void)detail::with_c_args(shape_, [&](const tril_attention_args& args) {
    ratio = bench::computed_over_visible(args, kernels_of(isa_));
    return status();
  });
  return ratio;
}

}  // namespace tril::bench
