#pragma once

#include "kernels/generic/block.hpp"
#include "kernels/generic/exp.hpp"
#include "kernels/generic/pack.hpp"

namespace tril::TRIL_ISA {
namespace {

/// The weight of a key that takes no part. Adding it changes no sum; its sign tells pv to leave the value
/// alone even where 0 * v would be NaN.
inline constexpr float excluded_weight = -0.0f;

/// Values of a panel, lane by lane, for `width` rows.
using row_lanes = float[width][panel_keys];

/// Rows behind the first `count` are not there: zeros.
inline void zero_rows(row_lanes& lanes, int count) {
  for (int row = count; row < width; ++row) std::memset(lanes[row], 0, sizeof lanes[row]);
}

/// Joins the 16 lanes of each row by a halving tree: i with i + 8, then + 4, + 2, + 1. Rows go together: interleaved,
/// two of them have the lanes to be joined in the halves of two vectors.
template <class Join>
[[gnu::always_inline]] inline vec join_lanes(const row_lanes& rows, Join join) {
  constexpr int per_row = panel_keys / width;
  vec x[width];
  TRIL_UNROLL for (int row = 0; row < width; ++row) {
    vec part[per_row];
    TRIL_UNROLL for (int i = 0; i < per_row; ++i) part[i] = load(rows[row] + i * width);
    TRIL_UNROLL for (int half = per_row / 2; half > 0; half /= 2) TRIL_UNROLL for (int i = 0; i < half; ++i) part[i] =
        join(part[i], part[i + half]);
    x[row] = part[0];
  }
  TRIL_UNROLL for (int half = width / 2; half > 0; half /= 2) TRIL_UNROLL for (int i = 0; i < half; ++i) {
    vec low, high;
    interleave(x[i], x[i + half], low, high);
    x[i] = join(low, high);
  }
  return x[0];
}

inline void max_of_lanes(const float* scores, int panels, float* lanes_out) {
  constexpr int per_panel = panel_keys / width;
  vec lane_max[per_panel];
  TRIL_UNROLL for (vec& m : lane_max) m = broadcast(numeric::negative_infinity);
  for (int p = 0; p < panels; ++p)
    TRIL_UNROLL for (int i = 0; i < per_panel; ++i) lane_max[i] =
        max(lane_max[i], load(scores + p * panel_keys + i * width));
  TRIL_UNROLL for (int i = 0; i < per_panel; ++i) store(lanes_out + i * width, lane_max[i]);
}

/// Exponentials that go side by side: as many as registers hold.
inline constexpr int exp_vectors = width == 16 ? 4 : width == 8 ? 2 : 1;

/// Scores of Panels panels to weights, added to the sums of each lane in ascending order of keys.
template <bool MarkExcluded, int Panels>
[[gnu::always_inline]] inline void weigh_panels(float* scores, vec shift, vec (&lane_sum)[panel_keys / width]) {
  constexpr int vecs = Panels * panel_keys / width, together = vecs < exp_vectors ? vecs : exp_vectors;
  TRIL_UNROLL for (int first = 0; first < vecs; first += together) {
    vec score[together], weight[together];
    TRIL_UNROLL for (int i = 0; i < together; ++i) {
      score[i] = load(scores + (first + i) * width);
      weight[i] = score[i] - shift;
    }
    exp32(weight);
    TRIL_UNROLL for (int i = 0; i < together; ++i) {
      if constexpr (MarkExcluded)
        weight[i] =
            select(equal(score[i], broadcast(numeric::negative_infinity)), broadcast(excluded_weight), weight[i]);
      store(scores + (first + i) * width, weight[i]);
      vec& sum = lane_sum[(first + i) % (panel_keys / width)];
      sum = sum + weight[i];
    }
  }
}

/// Scores of a row to weights, and the sums of each lane's weights.
template <bool MarkExcluded>
inline void weigh(float* scores, int panels, vec shift, float* lanes_out) {
  constexpr int per_panel = panel_keys / width;
  constexpr int at_once = exp_vectors > per_panel ? exp_vectors / per_panel : 1;
  vec lane_sum[per_panel];
  TRIL_UNROLL for (vec& t : lane_sum) t = broadcast(0.0f);
  int p = 0;
  for (; p + at_once <= panels; p += at_once)
    weigh_panels<MarkExcluded, at_once>(scores + p * panel_keys, shift, lane_sum);
  for (; p < panels; ++p) weigh_panels<MarkExcluded, 1>(scores + p * panel_keys, shift, lane_sum);
  TRIL_UNROLL for (int i = 0; i < per_panel; ++i) store(lanes_out + i * width, lane_sum[i]);
}

/// Rows of one split, scores to weights in place: their maxima, exponentials, and sums. `MarkExcluded` tells
/// weights that are excluded (score -inf) from weights that merely underflowed; only values that are not
/// finite need it. Rows go together by vectors, so that joining lanes costs a few shuffles per row.
/// `maxima`, unless null, has the largest score of each lane of each row already, and room for whole vectors of rows.
template <bool MarkExcluded>
inline void softmax(float* scores, int rows, int panels, float* row_max, float* row_sum,
                    const row_lanes* maxima = nullptr) {
  for (int first = 0; first < rows; first += width) {
    const int count = rows - first < width ? rows - first : width;
    row_lanes own_max, lane_sum;
    float joined[width], shift[width];
    if (!maxima) {
      for (int row = 0; row < count; ++row) max_of_lanes(scores + (first + row) * split_keys, panels, own_max[row]);
      zero_rows(own_max, count);
    }
    const vec m = join_lanes(maxima ? maxima[first / width] : own_max, [](vec a, vec b) { return max(a, b); });
    store(joined, m);
    std::memcpy(row_max + first, joined, sizeof(float) * static_cast<std::size_t>(count));
    store(shift, select(less(broadcast(numeric::negative_infinity), m), m, broadcast(0.0f)));
    for (int row = 0; row < count; ++row)
      weigh<MarkExcluded>(scores + (first + row) * split_keys, panels, broadcast(shift[row]), lane_sum[row]);
    zero_rows(lane_sum, count);
    store(joined, join_lanes(lane_sum, [](vec a, vec b) { return a + b; }));
    std::memcpy(row_sum + first, joined, sizeof(float) * static_cast<std::size_t>(count));
  }
}

/// Whether a row that softmax<true> made has an excluded weight.
inline bool any_excluded(const float* weights, int panels) {
  std::uint32_t signs = 0;
  for (int i = 0; i < panels * panel_keys; ++i) signs |= numeric::bits_as<std::uint32_t>(weights[i]);
  return (signs >> 31) != 0;
}

}  // namespace
}  // namespace tril::TRIL_ISA
