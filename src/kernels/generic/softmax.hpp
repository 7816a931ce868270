#pragma once

#include "kernels/generic/block.hpp"
#include "kernels/generic/exp.hpp"

namespace tril::TRIL_ISA {
namespace {

/// The weight of a key that takes no part. Adding it changes no sum; its sign tells pv to leave the value
/// alone even where 0 * v would be NaN.
inline constexpr float excluded_weight = -0.0f;

/// One row of one split, scores to weights in place: their maximum, exponentials, and the sum as 16 lane
/// sums in ascending order of keys, joined by a halving tree. `MarkExcluded` tells weights that are excluded
/// (score -inf) from weights that merely underflowed; only values that are not finite need it.
template <bool MarkExcluded>
inline void softmax_row(float* scores, int panels, float& row_max, float& row_sum) {
  constexpr int per_panel = panel_keys / width;
  const vec minus_infinity = broadcast(numeric::negative_infinity);
  vec lane_max[per_panel];
  TRIL_UNROLL for (vec& m : lane_max) m = minus_infinity;
  for (int p = 0; p < panels; ++p)
    TRIL_UNROLL for (int i = 0; i < per_panel; ++i) lane_max[i] =
        max(lane_max[i], load(scores + p * panel_keys + i * width));
  float lane[panel_keys];
  for (int i = 0; i < per_panel; ++i) store(lane + i * width, lane_max[i]);
  row_max = lane[0];
  for (int i = 1; i < panel_keys; ++i) row_max = lane[i] > row_max ? lane[i] : row_max;

  const vec shift = broadcast(row_max > numeric::negative_infinity ? row_max : 0.0f);
  vec lane_sum[per_panel];
  TRIL_UNROLL for (vec& t : lane_sum) t = broadcast(0.0f);
  for (int p = 0; p < panels; ++p) TRIL_UNROLL for (int i = 0; i < per_panel; ++i) {
      float* at = scores + p * panel_keys + i * width;
      const vec score = load(at);
      vec weight = exp32(score - shift);
      if constexpr (MarkExcluded) weight = select(equal(score, minus_infinity), broadcast(excluded_weight), weight);
      store(at, weight);
      lane_sum[i] = lane_sum[i] + weight;
    }
  for (int i = 0; i < per_panel; ++i) store(lane + i * width, lane_sum[i]);
  for (int half = panel_keys / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  row_sum = lane[0];
}

/// Whether a row that softmax_row<true> made has an excluded weight.
inline bool any_excluded(const float* weights, int panels) {
  std::uint32_t signs = 0;
  for (int i = 0; i < panels * panel_keys; ++i) signs |= numeric::bits_as<std::uint32_t>(weights[i]);
  return (signs >> 31) != 0;
}

}  // namespace
}  // namespace tril::TRIL_ISA
