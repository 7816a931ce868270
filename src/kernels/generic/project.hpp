#pragma once

/// The projection behind attention, y = x . W^T + bias, by the score tile: outputs are its keys, and W its packed K.
/// A chain over `in` is cut into pieces whose panels stay in L1, its sum kept in memory between them, which changes
/// no bit.

#include "kernels/generic/merge.hpp"
#include "kernels/generic/pack.hpp"
#include "kernels/generic/qk.hpp"

namespace tril::TRIL_ISA {
namespace {

/// Dimensions of a piece. Two panels of it take 32 KiB.
inline constexpr std::int64_t piece_dims = 256;

/// Rows of the next tile where `left` are left: a full one unless a third of it would be computed for nothing.
constexpr int project_tile_rows(int left) {
  return 3 * left > 2 * tiles.qk_rows ? tiles.qk_rows : score_tile_rows(left < 4 ? left : 4);
}

/// Up to tiles.qk_rows rows of x, tile by tile.
inline void pack_x(const contract::pack_x_args& args) {
  constexpr std::int64_t at_once = contract::max_dim;  // as many zeros as there are
  float* to = args.packed;
  for (int first = 0, tile_rows; first < args.rows; first += tile_rows) {
    tile_rows = project_tile_rows(args.rows - first);
    for (std::int64_t head = 0; head < args.heads; ++head)
      for (std::int64_t c = 0; c < args.dim; c += at_once) {
        const auto columns = static_cast<int>(args.dim - c < at_once ? args.dim - c : at_once);
        const std::int64_t offset = head * args.head_stride + c;
        const auto row_at = [&](int i) { return first + i < args.rows ? args.x[first + i] + offset : nullptr; };
        if (tile_rows == 1)
          std::memcpy(to, row_at(0), sizeof(float) * static_cast<std::size_t>(columns));
        else
          pack_tile(tile_rows, columns, as_it_is(), row_at, to);
        to += std::int64_t{columns} * tile_rows;
      }
  }
}

/// Carries the sums of one tile of rows on over `dims` dimensions of `panels` panels.
inline void project_tile(int rows, const float* x, const void* const* w, int panels, std::int64_t dims, float* sums,
                         trickle ahead) {
  with_tile_rows(rows, [&]<int Rows>() {
    constexpr int at_once = score_tile_panels(Rows);
    constexpr auto onward = score_tile::onward;
    int p = 0;
    for (; p + at_once <= panels; p += at_once)
      qk_tile<Rows, at_once, onward>(x, w + p, dims, sums + p * panel_keys, nullptr, ahead);
    if constexpr (at_once > 2)
      for (; p + 2 <= panels; p += 2) qk_tile<Rows, 2, onward>(x, w + p, dims, sums + p * panel_keys, nullptr, ahead);
    for (; p < panels; ++p) qk_tile<Rows, 1, onward>(x, w + p, dims, sums + p * panel_keys, nullptr, ahead);
  });
}

/// What tile `tile` of `count` asks for of the panels that the next tiles need: its share, spread over its steps.
inline trickle share_of_panels(const void* const* next, std::int64_t dims, int tile, int count) {
  const std::int64_t panel_bytes = 4 * contract::k_panel_elements(dims);
  const std::int64_t share = tiles.qk_panels * panel_bytes / count, first = tile * share;
  return {static_cast<const char*>(next[first / panel_bytes]) + first % panel_bytes, share / dims};
}

/// Adds the bias to `columns` sums of a row, and rounds nothing else. + 0.0f turns -0.0 into +0.0.
inline void finish_projection(const float* sums, const float* bias, int columns, float* y) {
  int c = 0;
  for (; c + width <= columns; c += width) {
    const vec sum = bias ? load(sums + c) + load(bias + c) : load(sums + c);
    store(y + c, canonical(sum + broadcast(0.0f)));
  }
  for (; c < columns; ++c) y[c] = numeric::canonical((bias ? sums[c] + bias[c] : sums[c]) + 0.0f);
}

inline void project(const contract::project_args& args) {
  const std::int64_t in = args.in;
  const float* x[tiles.block_rows];  // of each tile
  int rows_of[tiles.block_rows], count = 0, full = 0;
  for (int row = 0; row < args.rows; row += rows_of[count++]) {
    rows_of[count] = project_tile_rows(args.rows - row);
    x[count] = args.x + row / tiles.qk_rows * contract::packed_x_floats(tiles, in) + row % tiles.qk_rows * in;
    full += rows_of[count] == tiles.qk_rows;
  }
  // Few rows read the weight once, and each panel from end to end.
  const std::int64_t piece = full > 0 ? piece_dims : in;
  const int at_once = full > 0 ? tiles.qk_panels : score_tile_panels(rows_of[0]);

  for (std::int64_t first = args.first_panel; first < args.last_panel; first += panels_per_split) {
    const std::int64_t left = args.last_panel - first;
    const int panels = left < panels_per_split ? static_cast<int>(left) : panels_per_split;
    std::memset(args.sums, 0,
                sizeof(float) * static_cast<std::size_t>(contract::round_up(args.rows, tiles.qk_rows) * split_keys));
    for (std::int64_t c = 0; c < in; c += piece) {
      const std::int64_t dims = in - c < piece ? in - c : piece;
      const void* w[panels_per_split + tiles.qk_panels];  // behind the last, where the next piece begins
      for (int p = 0; p < panels; ++p) w[p] = args.weight + ((first + p) * in + c) * panel_keys;
      for (int p = 0; p < tiles.qk_panels; ++p)
        w[panels + p] = args.weight + ((first + (p < panels ? p : 0)) * in + c + dims) * panel_keys;
      for (int p = 0; p < panels; p += at_once) {
        const int here = panels - p < at_once ? panels - p : at_once;
        for (int tile = 0, row = 0; tile < count; row += rows_of[tile++]) {
          const trickle ahead = tile < full ? share_of_panels(w + p + here, dims, tile, full) : trickle{};
          project_tile(rows_of[tile], x[tile] + c * rows_of[tile], w + p, here, dims,
                       args.sums + std::int64_t{row} * split_keys + p * panel_keys, ahead);
        }
      }
    }
    for (int row = 0; row < args.rows; ++row) {
      const std::int64_t column = first * panel_keys;
      const std::int64_t columns = args.out - column < panels * panel_keys ? args.out - column : panels * panel_keys;
      finish_projection(args.sums + std::int64_t{row} * split_keys, args.bias ? args.bias + column : nullptr,
                        static_cast<int>(columns), args.y[row] + column);
    }
  }
}

}  // namespace
}  // namespace tril::TRIL_ISA
