#pragma once

#include "kernels/generic/ahead.hpp"

namespace tril::TRIL_ISA {
namespace {

/// The P.V tile: Rows x Columns sums of w v over the keys of the panels, ascending, then folded into what the
/// earlier splits left: O = fma(O, keep, RN(o * take)). Rows of weights are split_keys apart.
template <int Rows, int Columns>
[[gnu::noinline]] void pv_tile(const float* weights, const float* const* v, int panels, std::int64_t v_row,
                               const float* keep, const float* take, float* out, std::int64_t out_row, bool first,
                               const char* const* pieces, std::int64_t piece_step) {
  constexpr int vecs = Columns / width;
  vec sum[Rows][vecs];
  TRIL_UNROLL for (auto& row : sum) TRIL_UNROLL for (vec& s : row) s = broadcast(0.0f);
  for (int p = 0; p < panels; ++p) {
    const float* values = v[p];
    const float* w = weights + p * panel_keys;
    trickle ahead = {pieces[p], piece_step};
    TRIL_STEPS for (int key = 0; key < panel_keys; ++key, values += v_row) {
      vec value[vecs];
      TRIL_UNROLL for (int i = 0; i < vecs; ++i) value[i] = load(values + i * width);
      ahead.step();
      TRIL_UNROLL for (int row = 0; row < Rows; ++row) {
        const vec weight = broadcast(w[row * split_keys + key]);
        TRIL_UNROLL for (int i = 0; i < vecs; ++i) sum[row][i] = fma(weight, value[i], sum[row][i]);
      }
    }
  }
  TRIL_UNROLL for (int row = 0; row < Rows; ++row) TRIL_UNROLL for (int i = 0; i < vecs; ++i) {
    float* at = out + row * out_row + i * width;
    const vec taken = sum[row][i] * broadcast(take[row]);
    store(at, first ? taken : fma(load(at), broadcast(keep[row]), taken));
  }
}

/// The same where a value is infinite or NaN: excluded keys are left out one by one, because 0 * NaN must not
/// be evaluated for a key that the row does not see.
template <int Rows, int Columns>
[[gnu::noinline]] void pv_tile_careful(const float* weights, const float* const* v, int panels, std::int64_t v_row,
                                       const float* keep, const float* take, float* out, std::int64_t out_row,
                                       bool first, const char* const*, std::int64_t) {
  for (int row = 0; row < Rows; ++row)
    for (int c = 0; c < Columns; c += width) {
      vec sum = broadcast(0.0f);
      for (int key = 0; key < panels * panel_keys; ++key) {
        const float weight = weights[row * split_keys + key];
        if (numeric::bits_as<std::uint32_t>(weight) >> 31) continue;  // excluded_weight
        sum = fma(broadcast(weight), load(v[key / panel_keys] + key % panel_keys * v_row + c), sum);
      }
      float* at = out + row * out_row + c;
      const vec taken = sum * broadcast(take[row]);
      store(at, first ? taken : fma(load(at), broadcast(keep[row]), taken));
    }
}

/// Calls use.operator()<Columns>(first column) for tiles that cover all columns: the full width, and narrower
/// ones of 16, 32 or 48 at the end.
template <class Use>
inline void for_column_tiles(std::int64_t value_dim, Use use) {
  const std::int64_t columns = padded_columns(value_dim);
  std::int64_t c = 0;
  while (c < columns) {
    const std::int64_t left = columns - c;
    const auto tile = [&]<int Columns>() {
      use.template operator()<Columns>(c);
      c += Columns;
    };
    if (left >= tiles.pv_columns) {
      tile.template operator()<tiles.pv_columns>();
    } else if constexpr (tiles.pv_columns > panel_keys) {
      if (tiles.pv_columns > 48 && left == 48)
        tile.template operator()<48>();
      else if (tiles.pv_columns > 32 && left == 32)
        tile.template operator()<32>();
      else
        tile.template operator()<16>();
    }
  }
}

/// How many P.V tiles the rows of one score tile take.
inline int pv_tiles(int rows, std::int64_t value_dim) {
  int count = 0;
  for_column_tiles(value_dim, [&]<int Columns>(std::int64_t) { count += rows / value_tile_rows(rows); });
  return count;
}

/// All columns of the rows of one score tile. `v` addresses the V panels.
template <class Ahead>
inline void pv(int rows, const float* weights, const void* const* v, int panels, bool all_finite,
               std::int64_t value_dim, const float* keep, const float* take, float* out, bool first, Ahead&& ahead) {
  const std::int64_t columns = padded_columns(value_dim);
  with_tile_rows(rows, [&]<int TileRows>() {
    constexpr int Rows = value_tile_rows(TileRows);
    for_column_tiles(value_dim, [&]<int Columns>(std::int64_t c) {
      const float* from[panels_per_split];
      for (int p = 0; p < panels; ++p) from[p] = static_cast<const float*>(v[p]) + contract::v_offset(value_dim, 0, c);
      const auto tile = all_finite ? pv_tile<Rows, Columns> : pv_tile_careful<Rows, Columns>;
      const std::int64_t v_row = contract::v_column_panel_width(value_dim, c);
      for (int row = 0; row < TileRows; row += Rows)
        tile(weights + row * split_keys, from, panels, v_row, keep + row, take + row, out + row * columns + c, columns,
             first, ahead.pieces(panels), ahead.step());
    });
  });
}

}  // namespace
}  // namespace tril::TRIL_ISA
