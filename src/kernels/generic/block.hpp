#pragma once

#include "contract/args.hpp"
#include "contract/layout.hpp"
#include "kernels/generic/vec.hpp"

namespace tril::TRIL_ISA {
namespace {

using contract::column_panel;
using contract::padded_columns;
using contract::panel_keys;
using contract::panels_per_split;
using contract::split_keys;

inline constexpr auto tiles = isa::tiles;
static_assert(tiles.block_rows % tiles.qk_rows == 0 && tiles.qk_rows % tiles.pv_rows == 0,
              "a block is whole score tiles, a score tile whole P.V tiles");
static_assert(tiles.block_rows <= contract::max_block_rows);
static_assert(panel_keys % width == 0 && tiles.pv_columns % width == 0);
static_assert(tiles.pv_columns % panel_keys == 0 || panel_keys % tiles.pv_columns == 0);
static_assert(tiles.pv_columns <= column_panel);

/// Few rows take smaller score tiles, so that decoding does not compute rows that are not there.
constexpr int score_tile_rows(int count) {
  for (int few = 1; few <= 4; few *= 2)
    if (count <= few && few < tiles.qk_rows) return few;
  return tiles.qk_rows;
}

/// Calls use.operator()<Rows>() for the tile of that many rows.
template <class Use>
inline void with_tile_rows(int rows, Use use) {
  if constexpr (tiles.qk_rows > 1)
    if (rows == 1) return use.template operator()<1>();
  if constexpr (tiles.qk_rows > 2)
    if (rows == 2) return use.template operator()<2>();
  if constexpr (tiles.qk_rows > 4)
    if (rows == 4) return use.template operator()<4>();
  use.template operator()<tiles.qk_rows>();
}

/// Rows of the P.V tile that goes with a score tile.
constexpr int value_tile_rows(int tile_rows) { return tile_rows % tiles.pv_rows == 0 ? tiles.pv_rows : tile_rows; }

inline constexpr int max_score_tiles = tiles.block_rows / tiles.qk_rows;
static_assert(max_score_tiles >= 1);

/// Panels that attend_views transposes at a time: they stay in L1.
inline constexpr int view_panels = 4;

/// Rows of the per-row arrays: whole vectors.
inline constexpr int state_rows = static_cast<int>(contract::round_up(tiles.block_rows, panel_keys));

/// What a block of rows keeps between begin_rows and finish_rows.
struct block_state {
  float* q;          // [score tiles][dim][qk_rows], scaled
  float* scores;     // [block_rows][split_keys]; after softmax the weights
  float* out;        // [block_rows][padded columns]: O, not yet divided
  float* max;        // [state_rows]: M
  float* sum;        // [state_rows]: L
  bool* started;     // whether out holds anything yet
  float* split_max;  // [state_rows]: m of the split at hand
  float* split_sum;  // [state_rows]: l of the split at hand
  float* keep;       // [state_rows]: a, the factor of what came before
  float* take;       // [state_rows]: b, the factor of the split at hand
  float* keys;       // [view_panels][dim][16], only where attend_views is called
  float* split_out;  // [block_rows][padded columns]: o of the split at hand, likewise
};

constexpr std::int64_t block_floats(std::int64_t dim, std::int64_t value_dim) {
  return tiles.block_rows * (dim + split_keys + padded_columns(value_dim)) + 6 * state_rows + panel_keys + width;
}

constexpr std::int64_t view_floats(std::int64_t dim, std::int64_t value_dim) {
  return view_panels * contract::k_panel_elements(dim) + tiles.block_rows * padded_columns(value_dim);
}

inline block_state state_of(const contract::row_block& block) {
  float* next = reinterpret_cast<float*>(block.scratch);
  const auto take = [&next](std::int64_t count) {
    float* p = next;
    next += count;
    return p;
  };
  block_state s;
  s.scores = take(std::int64_t{tiles.block_rows} * split_keys);
  s.out = take(tiles.block_rows * padded_columns(block.value_dim));
  s.max = take(state_rows);
  s.sum = take(state_rows);
  s.started = reinterpret_cast<bool*>(take(panel_keys));
  s.split_max = take(state_rows);
  s.split_sum = take(state_rows);
  s.keep = take(state_rows);
  s.take = take(state_rows);
  s.q = take(std::int64_t{tiles.block_rows} * block.dim + width);
  s.keys = take(view_panels * contract::k_panel_elements(block.dim));
  s.split_out = take(tiles.block_rows * padded_columns(block.value_dim));
  return s;
}

/// The score tiles of a block.
struct tile_range {
  int rows;   // of a tile
  int count;  // of tiles
};
inline tile_range score_tiles(const contract::row_block& block) {
  const int rows = score_tile_rows(block.count);
  return {rows, (block.count + rows - 1) / rows};
}

/// Rows of a tile that are there.
inline int rows_of_tile(const contract::row_block& block, const tile_range& range, int tile) {
  const int left = block.count - tile * range.rows;
  return left < range.rows ? left : range.rows;
}

}  // namespace
}  // namespace tril::TRIL_ISA
