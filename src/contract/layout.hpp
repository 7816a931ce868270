#pragma once

/// Where packed keys and values lie. Keys go in panels of 16, each panel by itself, so that a page of any
/// number of panels, anywhere, is as good as one long array.
///   K panel: [dim][16]. A vector holds one dimension of neighbouring keys.
///   V panel: [value_dim / 64][16][64], the last column panel only as wide as it must be. A tile takes 64
///   columns at a time and so walks whole 4 KiB; rows 512 bytes apart would use half of the L1 sets.

#include <cstddef>
#include <cstdint>

#include "numeric/canon.hpp"

namespace tril::contract {

using numeric::panel_keys;
using numeric::split_keys;

inline constexpr int panels_per_split = split_keys / panel_keys;
inline constexpr int column_panel = 64;
inline constexpr std::int64_t max_dim = 1024;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Columns of a packed or accumulated row of `value_dim` elements: whole groups of 16.
constexpr std::int64_t padded_columns(std::int64_t value_dim) { return round_up(value_dim, panel_keys); }

/// Elements of one panel of K.
constexpr std::int64_t k_panel_elements(std::int64_t dim) { return dim * panel_keys; }

/// Elements of one panel of V, and where element (key, column) lies in it.
constexpr std::int64_t v_panel_elements(std::int64_t value_dim) { return panel_keys * padded_columns(value_dim); }
constexpr std::int64_t v_column_panel_width(std::int64_t value_dim, std::int64_t column) {
  const std::int64_t left = padded_columns(value_dim) - column / column_panel * column_panel;
  return left < column_panel ? left : column_panel;
}
constexpr std::int64_t v_offset(std::int64_t value_dim, std::int64_t key, std::int64_t column) {
  return column / column_panel * column_panel * panel_keys + key * v_column_panel_width(value_dim, column) +
         column % column_panel;
}

/// Elements of a row's partial state in memory: m, l and the undivided output.
constexpr std::int64_t state_elements(std::int64_t value_dim) { return 2 + padded_columns(value_dim); }

}  // namespace tril::contract
