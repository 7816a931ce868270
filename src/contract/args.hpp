#pragma once

/// What the baseline hands to a kernel: plain data, no masks by name. A kernel sees rows, full panels, and
/// edge panels with one 16-bit mask per row. Everything that the canonical order knows has its place here
/// already (bias, slopes, sinks, per-key scales), so that later features add no field.

#include <cstddef>
#include <cstdint>

namespace tril::contract {

/// One query row: all that a kernel needs to compute it, whichever head or sequence it belongs to.
struct query_row {
  const void* q;                 // [dim]
  void* out;                     // [value_dim]
  float* lse;                    // one value, or null
  const float* bias;             // [keys of the sequence], added to the scores; or null
  std::int64_t position;         // among the keys of its sequence; for ALiBi
  float slope;                   // ALiBi; used when the block has_slopes
  float sink;                    // sink logit; -inf: none
  const void* next_q = nullptr;  // queries in this place of the block that comes next: a hint
};

/// The rows that go through a kernel together, and what is the same for all of them.
struct row_block {
  const query_row* rows;
  std::int32_t count;  // 1 ... the block_rows of the table
  std::int32_t dim;
  std::int32_t value_dim;
  float scale;
  float soft_cap;  // 0: none
  bool has_slopes;
  std::byte* scratch;  // block_bytes() or view_bytes() of the table, 64-byte aligned; kept between calls
};

/// 16 packed keys of the split at hand.
struct key_panel {
  const void* k;                   // a K panel, see layout.hpp
  const void* v;                   // a V panel
  const float* k_scales;           // [16] for integer keys, or null
  const float* v_scales;           // [16] for integer values, or null
  const std::uint16_t* row_masks;  // [rows]: bit b set = the row sees key b; null: every row sees all 16
  std::int32_t slot;               // place in the split, 0 ... 15
  bool v_finite;                   // no infinity or NaN among the 16 values
};

/// The panels of one split that some row of the block sees, ascending.
struct split_args {
  const key_panel* panels;
  std::int32_t count;            // 1 ... 16
  std::int64_t first_key;        // of the split, in its sequence; for bias and ALiBi
  const void* next_k = nullptr;  // K panels of the next split, one behind another; null after the last: a hint
};

/// Up to 16 keys of the split at hand as they lie in memory, one pointer per row of K and of V.
struct view_panel {
  const void* const* k;            // [count] rows of [dim]
  const void* const* v;            // [count] rows of [value_dim]
  const float* k_scales;           // [16] for integer keys, or null
  const float* v_scales;           // [16] for integer values, or null
  const std::uint16_t* row_masks;  // as in key_panel; never null where count < 16
  std::int32_t count;
};

struct view_args {
  const view_panel* panels;
  std::int32_t count;            // 1 ... 16
  std::int64_t first_key;        // of the split
  const void* const* next_keys;  // 16 rows of K that will be read after this split, or null: a hint
};

/// Up to 16 rows of K or V, to be packed as one panel; rows beyond `count` become zeros.
struct pack_args {
  const void* const* rows;  // [count]
  std::int32_t count;
  std::int32_t extent;                // dim or value_dim
  void* panel;                        // out: the packed panel
  const void* const* next = nullptr;  // [panel_keys] rows that will be packed next: a hint
};

/// Score tile, as tests and benchmarks call it: scores[row][16 panel + lane] = <q_row, k_lane>.
struct qk_args {
  const float* q;        // [dim][tile rows], scaled
  const void* const* k;  // [tile panels]
  std::int64_t dim;
  float* scores;  // [tile rows][split_keys]; panel i goes to columns 16 i ...
};

/// Softmax of one row of one split, in place: scores to weights.
struct softmax_args {
  float* scores;        // [split_keys]
  std::int32_t panels;  // 16 `panels` scores are in use
  float max;            // out: largest score, -inf if none is visible
  float sum;            // out: sum of the weights, by the halving tree
};

/// Weighted values, as tests and benchmarks call it: out[row][column] = sum over keys of w v.
struct pv_args {
  const float* weights;  // [qk_rows][split_keys]
  const void* const* v;  // [panels] V panels of pv_columns columns
  std::int32_t panels;
  float* out;  // [qk_rows][pv_columns, padded to 16]
};

/// Public merge of two partial rows: (out, lse) = merge((out, lse), (other_out, other_lse)).
struct merge_args {
  const float* a;  // [value_dim]
  const float* b;  // [value_dim]
  float a_lse, b_lse;
  float* out;  // [value_dim]; may be a or b
  float* lse;
  std::int32_t value_dim;
};

/// Rows that a projection takes together, as its tiles want them.
struct pack_x_args {
  const float* const* x;  // [rows]: the first head of each
  std::int32_t rows;      // 1 ... qk_rows of the table
  std::int64_t heads;     // `in` is heads times dim
  std::int64_t dim;       // elements that lie together
  std::int64_t head_stride;
  float* packed;  // out: of packed_x_floats(), 64-byte aligned
};

/// y = x . W^T + bias for a block of rows and a range of outputs. W lies in panels like those of K: 16 outputs each,
/// [in][16], one behind another.
struct project_args {
  const float* x;     // what pack_x made of every qk_rows rows, packed_x_floats() apart
  float* const* y;    // [rows] of [out]
  std::int32_t rows;  // 1 ... the block_rows of the table
  std::int64_t in;
  const float* weight;
  const float* bias;  // [out], or null
  std::int64_t out;
  std::int64_t first_panel, last_panel;  // the last one is one behind
  float* sums;                           // scratch, [whole tiles of rows][split_keys], 64-byte aligned
};

/// Independent chains of multiply-add.
struct peak_args {
  std::int64_t steps;
  bool many;     // two numbers of chains, which must agree where neither is bound by latency
  double flops;  // out: a multiply-add is two
  float result;  // out: keeps the work from being removed
};

}  // namespace tril::contract
