#pragma once

/// Few rows against keys and values as they lie in memory: bound by reading each of them once. Panels of K
/// are transposed into L1, values are used in place.

#include "kernels/generic/prefill.hpp"

namespace tril::TRIL_ISA {
namespace {

/// Adds the values of one panel to `out`: out = fma(w, v, out), keys ascending. `ahead` is null or has 16 rows
/// that will be read next; their cache lines are asked for on the way.
template <int Rows, int Columns>
[[gnu::noinline]] void add_values(const float* weights, const void* const* v, const void* const* ahead,
                                  std::int64_t column, float* out, std::int64_t out_row) {
  constexpr int vecs = Columns / width;
  vec sum[Rows][vecs];
  TRIL_UNROLL for (int row = 0; row < Rows; ++row) TRIL_UNROLL for (int i = 0; i < vecs; ++i) sum[row][i] =
      load(out + row * out_row + i * width);
  TRIL_STEPS for (int key = 0; key < panel_keys; ++key) {
    const float* values = static_cast<const float*>(v[key]) + column;
    if (ahead)
      for (int c = 0; c < Columns; c += line_floats) prefetch_line(static_cast<const float*>(ahead[key]) + column + c);
    vec value[vecs];
    TRIL_UNROLL for (int i = 0; i < vecs; ++i) value[i] = load(values + i * width);
    TRIL_UNROLL for (int row = 0; row < Rows; ++row) {
      const vec weight = broadcast(weights[row * split_keys + key]);
      TRIL_UNROLL for (int i = 0; i < vecs; ++i) sum[row][i] = fma(weight, value[i], sum[row][i]);
    }
  }
  TRIL_UNROLL for (int row = 0; row < Rows; ++row) TRIL_UNROLL for (int i = 0; i < vecs; ++i)
      store(out + row * out_row + i * width, sum[row][i]);
}

/// The same for one row, leaving excluded keys out: their values may be NaN, or not be there.
inline void add_values_careful(const float* weights, const void* const* v, int value_dim, float* out) {
  for (int key = 0; key < panel_keys; ++key) {
    if (numeric::bits_as<std::uint32_t>(weights[key]) >> 31) continue;  // excluded_weight
    const float* values = static_cast<const float*>(v[key]);
    int c = 0;
    for (; c + width <= value_dim; c += width)
      store(out + c, fma(broadcast(weights[key]), load(values + c), load(out + c)));
    for (; c < value_dim; ++c) out[c] = numeric::fma<fused>(weights[key], values[c], out[c]);
  }
}

/// One panel of values for all rows of a block. Whole tiles of columns where all 16 keys count for all rows;
/// the rest, and columns that fill no vector, key by key.
inline void add_panel(const contract::row_block& block, const block_state& s, const contract::view_panel& panel,
                      const void* const* ahead, int first_column_of_weights, const bool* row_has_excluded) {
  const tile_range range = score_tiles(block);
  const std::int64_t columns = padded_columns(block.value_dim);
  for (int tile = 0; tile < range.count; ++tile) {
    const int first_row = tile * range.rows;
    const int rows = rows_of_tile(block, range, tile);
    const float* weights = s.scores + std::int64_t{first_row} * split_keys + first_column_of_weights;
    float* out = s.split_out + first_row * columns;
    bool whole = panel.row_masks == nullptr && block.value_dim % panel_keys == 0;
    for (int row = 0; row < rows; ++row) whole = whole && !row_has_excluded[first_row + row];
    if (!whole) {
      for (int row = 0; row < rows; ++row)
        add_values_careful(weights + row * split_keys, panel.v, block.value_dim, out + row * columns);
      continue;
    }
    with_tile_rows(range.rows, [&]<int TileRows>() {
      constexpr int Rows = value_tile_rows(TileRows);
      for_column_tiles(block.value_dim, [&]<int Columns>(std::int64_t c) {
        for (int row = 0; row < TileRows; row += Rows)
          add_values<Rows, Columns>(weights + row * split_keys, panel.v, ahead, c, out + row * columns + c, columns);
      });
    });
  }
}

/// How many panels ahead memory is asked for: the time of one is about the time that memory takes to answer.
inline constexpr int panels_ahead = 2;

/// What is read `panels_ahead` after the keys, or the values, of panel p: keys of the split, then its values, then
/// the keys of the next split. Null where that is not a whole panel.
inline const void* const* whole(const contract::view_panel& panel, const void* const* rows) {
  return panel.count == panel_keys ? rows : nullptr;
}
inline const void* const* rows_after_values(const contract::view_args& split, int p) {
  p += panels_ahead;
  return p < split.count ? whole(split.panels[p], split.panels[p].v) : p == split.count ? split.next_keys : nullptr;
}
inline const void* const* rows_after_keys(const contract::view_args& split, int p) {
  if (p + panels_ahead >= split.count) return rows_after_values(split, p - split.count);
  return whole(split.panels[p + panels_ahead], split.panels[p + panels_ahead].k);
}

/// One tile of rows against the transposed panels first ... first + count - 1 of the split, those that it sees.
/// The scores of the others stay what they were: they will be hidden.
inline void score_tile_of_views(const contract::row_block& block, const block_state& s,
                                const contract::view_args& split, const tile_range& range, int tile,
                                const void* const* k, int first, int count) {
  const int first_row = tile * range.rows, rows = rows_of_tile(block, range, tile);
  const auto visible = [&](int p) {
    const std::uint16_t* masks = split.panels[first + p].row_masks;
    return any_visible(masks ? masks + first_row : nullptr, rows);
  };
  float* q = s.q + std::int64_t{first_row} * block.dim;
  float* scores = s.scores + std::int64_t{first_row} * split_keys + first * panel_keys;
  for (int p = 0; p < count;) {
    int end = p;
    while (end < count && visible(end)) ++end;
    if (end > p)
      qk<score_tile::plain>(range.rows, q, k + p, end - p, block.dim, scores + p * panel_keys, nullptr,
                            nothing_ahead{k + p});
    p = end + 1;
  }
}

inline void score_views(const contract::row_block& block, const block_state& s, const contract::view_args& split) {
  const tile_range range = score_tiles(block);
  const void* k[view_panels];
  for (int p = 0; p < view_panels; ++p) k[p] = s.keys + p * contract::k_panel_elements(block.dim);
  for (int first = 0; first < split.count; first += view_panels) {
    const int count = split.count - first < view_panels ? split.count - first : view_panels;
    for (int p = 0; p < count; ++p) {
      const contract::view_panel& panel = split.panels[first + p];
      pack_k({panel.k, panel.count, block.dim, const_cast<void*>(k[p]), rows_after_keys(split, first + p)});
    }
    for (int tile = 0; tile < range.count; ++tile) score_tile_of_views(block, s, split, range, tile, k, first, count);
  }
}

inline void attend_views(const contract::row_block& block, const contract::view_args& split) {
  const block_state s = state_of(block);
  score_views(block, s, split);
  for (int p = 0; p < split.count; ++p)
    if (split.panels[p].row_masks) hide_panel(s.scores + p * panel_keys, split.panels[p].row_masks, block.count);

  bool row_has_excluded[tiles.block_rows];
  softmax<true>(s.scores, block.count, split.count, s.split_max, s.split_sum);
  for (int row = 0; row < block.count; ++row)
    row_has_excluded[row] = any_excluded(s.scores + std::int64_t{row} * split_keys, split.count);
  fold_split(s);
  start_outputs(block, s);

  const std::int64_t columns = padded_columns(block.value_dim);
  const std::int64_t outputs = block.count * columns;
  for (std::int64_t i = 0; i < outputs; ++i) s.split_out[i] = 0.0f;
  for (int p = 0; p < split.count; ++p)
    add_panel(block, s, split.panels[p], rows_after_values(split, p), p * panel_keys, row_has_excluded);
  for (int row = 0; row < block.count; ++row) fold_outputs(s, row, columns, s.split_out + row * columns);
}

}  // namespace
}  // namespace tril::TRIL_ISA
