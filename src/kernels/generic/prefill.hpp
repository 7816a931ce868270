#pragma once

#include "kernels/generic/edge.hpp"
#include "kernels/generic/merge.hpp"
#include "kernels/generic/pack.hpp"
#include "kernels/generic/pv.hpp"
#include "kernels/generic/qk.hpp"
#include "kernels/generic/softmax.hpp"

namespace tril::TRIL_ISA {
namespace {

inline void begin_rows(const contract::row_block& block) {
  const block_state s = state_of(block);
  pack_q(block, s.q);
  for (int i = 0; i < state_rows; ++i) {
    s.max[i] = numeric::negative_infinity;
    s.sum[i] = 0.0f;
    s.split_max[i] = numeric::negative_infinity;
    s.split_sum[i] = 0.0f;
  }
  *s.started = false;
}

/// The panels of a split that some row of one score tile sees.
struct tile_panels {
  const void* k[panels_per_split];
  const void* v[panels_per_split];
  const std::uint16_t* row_masks[panels_per_split];  // of the tile's first row; null: all visible
  int count = 0;
  bool v_finite = true;
};

inline void list_panels(const contract::split_args& split, int first_row, int rows, tile_panels& list) {
  for (int p = 0; p < split.count; ++p) {
    const contract::key_panel& panel = split.panels[p];
    const std::uint16_t* masks = panel.row_masks ? panel.row_masks + first_row : nullptr;
    if (!any_visible(masks, rows)) continue;
    list.k[list.count] = panel.k;
    list.v[list.count] = panel.v;
    list.row_masks[list.count] = masks;
    list.v_finite &= panel.v_finite;
    ++list.count;
  }
}

/// Those of every score tile of a block: mostly the same ones, and then listed once.
class block_panels {
 public:
  block_panels(const contract::row_block& block, const contract::split_args& split, const tile_range& range) {
    for (int p = 0; p < split.count; ++p) same_ &= split.panels[p].row_masks == nullptr;
    for (int tile = 0; tile < (same_ ? 1 : range.count); ++tile)
      list_panels(split, tile * range.rows, rows_of_tile(block, range, tile), lists_[tile]);
  }
  const tile_panels& of(int tile) const { return lists_[same_ ? 0 : tile]; }

 private:
  bool same_ = true;
  tile_panels lists_[max_score_tiles];
};

/// The keys of one panel that `rows` rows of a tile do not see become -inf.
inline void hide_panel(float* scores, const std::uint16_t* masks, int rows) {
  for (int row = 0; row < rows; ++row) hide(scores + row * split_keys, masks[row]);
}

/// Scores of a split, hidden where a row does not look, and made weights.
inline void weigh_split(const contract::row_block& block, const block_state& s, const block_panels& panels,
                        const tile_range& range) {
  const values_ahead values(block, range);
  for (int tile = 0; tile < range.count; ++tile) {
    const int first_row = tile * range.rows, rows = rows_of_tile(block, range, tile);
    const tile_panels& list = panels.of(tile);
    float* scores = s.scores + std::int64_t{first_row} * split_keys;
    float lane_max[contract::round_up(tiles.qk_rows, width) * panel_keys];
    for (float& m : lane_max) m = numeric::negative_infinity;
    bool hidden = false;
    qk<score_tile::with_maxima>(range.rows, s.q + std::int64_t{first_row} * block.dim, list.k, list.count, block.dim,
                                scores, lane_max,
                                [&](int p, int count) { return values.of(tile, list.v[p], count, block.dim); });
    for (int p = 0; p < list.count; ++p) {
      if (!list.row_masks[p]) continue;
      hide_panel(scores + p * panel_keys, list.row_masks[p], rows);
      hidden = true;
    }
    const auto softmax_of_tile = list.v_finite ? softmax<false> : softmax<true>;
    softmax_of_tile(scores, rows, list.count, s.split_max + first_row, s.split_sum + first_row,
                    hidden ? nullptr : reinterpret_cast<const row_lanes*>(lane_max));
  }
}

inline void attend_split(const contract::row_block& block, const contract::split_args& split) {
  const block_state s = state_of(block);
  const tile_range range = score_tiles(block);
  const block_panels panels(block, split, range);
  weigh_split(block, s, panels, range);
  fold_split(s);
  const bool first = !*s.started;
  *s.started = true;
  rows_ahead ahead(block, split, range.count * pv_tiles(range.rows, block.value_dim));
  for (int tile = 0; tile < range.count; ++tile) {
    const int row = tile * range.rows;
    const tile_panels& list = panels.of(tile);
    if (list.count > 0 || first)
      pv(range.rows, s.scores + std::int64_t{row} * split_keys, list.v, list.count, list.v_finite, block.value_dim,
         s.keep + row, s.take + row, s.out + row * padded_columns(block.value_dim), first, ahead);
  }
}

/// One row of outputs divided by its sum. + 0.0f turns -0.0 into +0.0, so that no sum of zeros tells the order
/// it was made in.
inline void divide_row(const float* acc, float sum, float* out, int value_dim) {
  int c = 0;
  for (; c + width <= value_dim; c += width)
    store(out + c, canonical(load(acc + c) / broadcast(sum) + broadcast(0.0f)));
  for (; c < value_dim; ++c) out[c] = numeric::canonical(acc[c] / sum + 0.0f);
}

/// Sink, division, one rounding to the output type.
inline void finish_rows(const contract::row_block& block) {
  const block_state s = state_of(block);
  start_outputs(block, s);
  for (int i = 0; i < block.count; ++i) {
    const contract::query_row& row = block.rows[i];
    float* acc = s.out + i * padded_columns(block.value_dim);
    float m = s.max[i], l = s.sum[i];
    if (row.sink > numeric::negative_infinity) {
      const float new_max = m > row.sink ? m : row.sink;
      const float keep = numeric::exp32<fused>(m - new_max);
      l = numeric::fma<fused>(l, keep, numeric::exp32<fused>(row.sink - new_max));
      for (int c = 0; c < block.value_dim; ++c) acc[c] *= keep;
      m = new_max;
    }
    float* out = static_cast<float*>(row.out);
    if (l == 0.0f)
      std::memset(out, 0, sizeof(float) * static_cast<std::size_t>(block.value_dim));
    else
      divide_row(acc, l, out, block.value_dim);
    if (row.lse) *row.lse = l == 0.0f ? numeric::negative_infinity : numeric::canonical(numeric::log_sum_exp(m, l));
  }
}

}  // namespace
}  // namespace tril::TRIL_ISA
