#pragma once

#include <type_traits>

#include "kernels/generic/block.hpp"

namespace tril::TRIL_ISA {
namespace {

inline constexpr int line_floats = 16;  // of a cache line

/// Asks for the cache line in which the 16 floats from `p` on end. Where rows do not start on a line, the one in
/// which they start was asked for as the end of the 16 floats before, or of the head before.
[[gnu::always_inline]] inline void prefetch_line(const float* p) { __builtin_prefetch(p + line_floats - 1); }

/// Transposes a square of vectors: log2(width) rounds of interleaving row i with row i + width / 2.
[[gnu::always_inline]] inline void transpose(vec (&x)[width]) {
  for (int round = 1; round < width; round *= 2) {
    vec y[width];
    TRIL_UNROLL for (int i = 0; i < width / 2; ++i) interleave(x[i], x[i + width / 2], y[2 * i], y[2 * i + 1]);
    TRIL_UNROLL for (int i = 0; i < width; ++i) x[i] = y[i];
  }
}

/// What stands for a row that is not there.
alignas(64) inline constexpr float zeros[contract::max_dim] = {};

/// What becomes of each vector, or element, that is packed.
struct as_it_is {
  template <class X>
  [[gnu::always_inline]] X operator()(X x) const {
    return x;
  }
};
struct scaled {
  float by;

  template <class X>
  [[gnu::always_inline]] X operator()(X x) const {
    if constexpr (std::is_same_v<X, vec>)
      return x * broadcast(by);
    else
      return x * by;
  }
};

/// Writes `columns` columns of up to `width` rows as columns of `to`, whose rows are `to_row` apart. A whole vector is
/// stored per column, in ascending order: where a row of `to` is shorter, the next one overwrites what went too far.
/// `ahead`, unless null, has rows that will be read next: their cache lines are asked for one by one, so that memory
/// and shuffles overlap.
template <class Each>
[[gnu::always_inline]] inline void transpose_rows(const float* const (&rows)[width], int columns, Each each, float* to,
                                                  std::int64_t to_row, const void* const* ahead = nullptr) {
  int c = 0;
  for (; c + width <= columns; c += width) {
    vec x[width];
    TRIL_UNROLL for (int i = 0; i < width; ++i) x[i] = load(rows[i] + c);
    transpose(x);
    if (ahead && c % line_floats == 0)
      for (int i = 0; i < width; ++i) prefetch_line(static_cast<const float*>(ahead[i]) + c);
    for (int i = 0; i < width; ++i) store(to + (c + i) * to_row, each(x[i]));
  }
  for (; c < columns; ++c)
    for (int i = 0; i < width; ++i) to[c * to_row + i] = each(rows[i][c]);
}

/// Rows of keys to one K panel.
inline void pack_k(const contract::pack_args& args) {
  float* panel = static_cast<float*>(args.panel);
  for (int first = 0; first < panel_keys; first += width) {
    const float* rows[width];
    for (int i = 0; i < width; ++i)
      rows[i] = first + i < args.count ? static_cast<const float*>(args.rows[first + i]) : zeros;
    transpose_rows(rows, args.extent, as_it_is(), panel + first, panel_keys, args.next ? args.next + first : nullptr);
  }
}

/// Rows of values to one V panel, columns padded with zeros. Returns whether all values are finite.
inline bool pack_v(const contract::pack_args& args) {
  float* panel = static_cast<float*>(args.panel);
  const int columns = static_cast<int>(padded_columns(args.extent));
  // Zeros as long as all values are finite: inf - inf and NaN - NaN are NaN.
  vec zero = broadcast(0.0f);
  float zero_of_rest = 0.0f;
  for (int first = 0; first < columns; first += column_panel) {
    const int panel_width = static_cast<int>(contract::v_column_panel_width(args.extent, first));
    float* to = panel + contract::v_offset(args.extent, 0, first);
    for (int key = 0; key < panel_keys; ++key, to += panel_width) {
      const int valid = key >= args.count ? 0 : args.extent - first < panel_width ? args.extent - first : panel_width;
      const float* from = valid > 0 ? static_cast<const float*>(args.rows[key]) + first : nullptr;
      int c = 0;
      for (; c + width <= valid; c += width) {
        const vec x = load(from + c);
        zero = zero + (x - x);
        if (args.next && (first + c) % line_floats == 0)
          prefetch_line(static_cast<const float*>(args.next[key]) + first + c);
        store(to + c, x);
      }
      for (; c < panel_width; ++c) {
        const float x = c < valid ? from[c] : 0.0f;
        zero_of_rest += x - x;
        to[c] = x;
      }
    }
  }
  return all(equal(zero, broadcast(0.0f))) && zero_of_rest == 0.0f;
}

/// The rows of one score tile: [columns][rows], so that the broadcasts of the tile are sequential. row_at(i) is where
/// row i lies; null: zeros, whose results are never stored. The last rows come first: where they fill no vector, they
/// overwrite first rows of the next column, and behind the last one a vector's room.
template <class Each, class RowAt>
inline void pack_tile(int tile_rows, int columns, Each each, RowAt row_at, float* to) {
  for (int first = (tile_rows - 1) / width * width; first >= 0; first -= width) {
    const float* rows[width];
    for (int i = 0; i < width; ++i) {
      rows[i] = first + i < tile_rows ? row_at(first + i) : nullptr;
      if (!rows[i]) rows[i] = zeros;
    }
    transpose_rows(rows, columns, each, to + first, tile_rows);
  }
}

/// Scaled queries, tile by tile. They lie last in the scratch, with a vector's room behind them.
inline void pack_q(const contract::row_block& block, float* q) {
  const tile_range range = score_tiles(block);
  for (int tile = 0; tile < range.count; ++tile) {
    const auto row_at = [&](int i) {
      const int row = tile * range.rows + i;
      return row < block.count ? static_cast<const float*>(block.rows[row].q) : nullptr;
    };
    pack_tile(range.rows, block.dim, scaled{block.scale}, row_at, q + std::int64_t{tile} * range.rows * block.dim);
  }
}

}  // namespace
}  // namespace tril::TRIL_ISA
