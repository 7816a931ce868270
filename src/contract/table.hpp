#pragma once

/// One instruction set: the only thing its folder exports.

#include "contract/args.hpp"
#include "contract/layout.hpp"

namespace tril::contract {

inline constexpr int max_block_rows = 128;

/// Register tiles, chosen by each instruction set for its number and width of registers.
struct tile_sizes {
  std::int32_t block_rows;  // rows that go through a kernel together, up to max_block_rows
  std::int32_t qk_rows;     // score tile: rows x panels
  std::int32_t qk_panels;
  std::int32_t pv_rows;  // P.V tile: rows x columns
  std::int32_t pv_columns;
};

/// Rows of a projection as tiles take them, up to qk_rows, with a vector's room behind.
constexpr std::int64_t packed_x_floats(const tile_sizes& tiles, std::int64_t in) {
  return round_up(tiles.qk_rows * in, panel_keys) + panel_keys;
}

struct kernel_table {
  const char* name;    // "avx2"
  bool fused;          // which family of the canonical arithmetic
  std::int32_t width;  // floats in a register
  tile_sizes tiles;
  std::size_t (*block_bytes)(std::int64_t dim, std::int64_t value_dim);  // scratch of a row block
  std::size_t (*view_bytes)(std::int64_t dim, std::int64_t value_dim);   // the same where attend_views is called
#define TRIL_KERNEL(field, label, ...)  \
  using field##_function = __VA_ARGS__; \
  field##_function field;
#include "contract/kernels.inc"
#undef TRIL_KERNEL
};

/// What each kernel is called.
namespace label {
#define TRIL_KERNEL(field, text, ...) inline constexpr const char* field = text;
#include "contract/kernels.inc"
#undef TRIL_KERNEL
}  // namespace label

}  // namespace tril::contract
