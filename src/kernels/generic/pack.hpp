#pragma once

#include "kernels/generic/block.hpp"

namespace tril::TRIL_ISA {
namespace {

/// Rows of keys to one K panel: a transposition.
inline void pack_k(const contract::pack_args& args) {
  float* panel = static_cast<float*>(args.panel);
  for (int key = 0; key < panel_keys; ++key) {
    const float* row = key < args.count ? static_cast<const float*>(args.rows[key]) : nullptr;
    for (int c = 0; c < args.extent; ++c) panel[c * panel_keys + key] = row ? row[c] : 0.0f;
  }
}

/// Rows of values to one V panel, columns padded with zeros. Returns whether all values are finite.
inline bool pack_v(const contract::pack_args& args) {
  float* panel = static_cast<float*>(args.panel);
  const int columns = static_cast<int>(padded_columns(args.extent));
  bool finite = true;
  for (int first = 0; first < columns; first += column_panel) {
    const int panel_width = static_cast<int>(contract::v_column_panel_width(args.extent, first));
    float* to = panel + contract::v_offset(args.extent, 0, first);
    for (int key = 0; key < panel_keys; ++key, to += panel_width) {
      const int valid = key >= args.count ? 0 : args.extent - first < panel_width ? args.extent - first : panel_width;
      const float* from = valid > 0 ? static_cast<const float*>(args.rows[key]) + first : nullptr;
      int c = 0;
      for (; c + width <= valid; c += width) {
        const vec x = load(from + c);
        finite &= all(equal(x - x, broadcast(0.0f)));  // inf - inf and NaN - NaN are NaN
        store(to + c, x);
      }
      for (; c < panel_width; ++c) {
        const float x = c < valid ? from[c] : 0.0f;
        finite &= x - x == 0.0f;
        to[c] = x;
      }
    }
  }
  return finite;
}

/// Scaled queries, [score tile][dim][row of the tile], so that the broadcasts of a tile are sequential. Rows
/// that the last tile lacks are zeros; their results are never stored.
inline void pack_q(const contract::row_block& block, float* q) {
  for (int tile = 0; tile < score_tiles(block); ++tile)
    for (int i = 0; i < tiles.qk_rows; ++i) {
      const int row = tile * tiles.qk_rows + i;
      const float* from = row < block.count ? static_cast<const float*>(block.rows[row].q) : nullptr;
      float* to = q + std::int64_t{tile} * tiles.qk_rows * block.dim + i;
      for (int c = 0; c < block.dim; ++c) to[c * tiles.qk_rows] = from ? from[c] * block.scale : 0.0f;
    }
}

}  // namespace
}  // namespace tril::TRIL_ISA
