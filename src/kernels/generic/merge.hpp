#pragma once

#include "kernels/generic/block.hpp"
#include "kernels/generic/exp.hpp"

namespace tril::TRIL_ISA {
namespace {

inline vec canonical(vec x) {
  return select(equal(x, x), x, broadcast(numeric::bits_as<float>(numeric::canonical_nan_bits)));
}

/// Folds the maximum and sum of a split into those of the splits before it, for every row of the block, and
/// leaves the factors that its outputs are joined with:
///   M' = max(M, m), a = exp(M - M'), b = exp(m - M'), L = fma(L, a, RN(l b)), O = fma(O, a, RN(o b))
/// A split without a visible key (l = 0; m is no sign, x86's max can lose a NaN) changes nothing.
inline void fold_split(const block_state& s) {
  for (int i = 0; i < state_rows; i += width) {
    const vec old_max = load(s.max + i), old_sum = load(s.sum + i);
    const vec split_max = load(s.split_max + i), split_sum = load(s.split_sum + i);
    const vec new_max = max(old_max, split_max);
    const vec keep = exp32(old_max - new_max);
    const vec take = exp32(split_max - new_max);
    const lanes empty = equal(split_sum, broadcast(0.0f));
    store(s.max + i, select(empty, old_max, new_max));
    store(s.sum + i, select(empty, old_sum, fma(old_sum, keep, split_sum * take)));
    store(s.keep + i, select(empty, broadcast(1.0f), keep));
    store(s.take + i, select(empty, broadcast(0.0f), take));
  }
}

/// Outputs of zero, where no split has left any.
inline void start_outputs(const contract::row_block& block, const block_state& s) {
  if (*s.started) return;
  *s.started = true;
  std::memset(s.out, 0, sizeof(float) * static_cast<std::size_t>(block.count * padded_columns(block.value_dim)));
}

/// One row of outputs joined with those of a split: O = fma(O, a, RN(o b)).
inline void fold_outputs(const block_state& s, int row, std::int64_t columns, const float* split_out) {
  float* out = s.out + row * columns;
  const vec keep = broadcast(s.keep[row]), take = broadcast(s.take[row]);
  for (std::int64_t c = 0; c < columns; c += width)
    store(out + c, fma(load(out + c), keep, load(split_out + c) * take));
}

/// A block's partial state goes to memory, state_elements() per row.
inline void save_rows(const contract::row_block& block, float* to) {
  const block_state s = state_of(block);
  start_outputs(block, s);
  const std::int64_t columns = padded_columns(block.value_dim);
  for (int row = 0; row < block.count; ++row, to += contract::state_elements(block.value_dim)) {
    to[0] = s.max[row];
    to[1] = s.sum[row];
    std::memcpy(to + 2, s.out + row * columns, sizeof(float) * static_cast<std::size_t>(columns));
  }
}

/// Folds a saved state into the block's, as one more split. Into a block that has just begun this restores what was
/// saved, to the bit but for the sign of a zero, which no output shows.
inline void fold_rows(const contract::row_block& block, const float* from) {
  const block_state s = state_of(block);
  const std::int64_t columns = padded_columns(block.value_dim), row_floats = contract::state_elements(block.value_dim);
  for (int row = 0; row < block.count; ++row) {
    s.split_max[row] = from[row * row_floats];
    s.split_sum[row] = from[row * row_floats + 1];
  }
  start_outputs(block, s);
  fold_split(s);
  for (int row = 0; row < block.count; ++row) fold_outputs(s, row, columns, from + row * row_floats + 2);
}

/// Public merge of two partial rows; see tril_merge.
inline void merge_rows(const contract::merge_args& args) {
  const bool a_empty = args.a_lse == numeric::negative_infinity;
  if (a_empty || args.b_lse == numeric::negative_infinity) {
    const float lse = a_empty ? args.b_lse : args.a_lse;
    const float* from = a_empty ? args.b : args.a;
    if (from != args.out) std::memcpy(args.out, from, sizeof(float) * static_cast<std::size_t>(args.value_dim));
    *args.lse = lse;
    return;
  }
  const float m = args.a_lse > args.b_lse ? args.a_lse : args.b_lse;
  const float wa = numeric::exp32<fused>(args.a_lse - m);
  const float wb = numeric::exp32<fused>(args.b_lse - m);
  const float sum = wa + wb;
  int c = 0;
  for (; c + width <= args.value_dim; c += width)
    store(args.out + c,
          canonical((broadcast(wa) * load(args.a + c) + broadcast(wb) * load(args.b + c)) / broadcast(sum)));
  for (; c < args.value_dim; ++c) args.out[c] = numeric::canonical((wa * args.a[c] + wb * args.b[c]) / sum);
  *args.lse = numeric::canonical(numeric::log_sum_exp(m, sum));
}

}  // namespace
}  // namespace tril::TRIL_ISA
