#pragma once

/// y = x . W^T + bias: the weight in panels of 16 outputs, and the work over rows and panels.

#include <vector>

#include "contract/table.hpp"
#include "memory/aligned.hpp"
#include "tril/tril.h"

namespace tril::run {

/// [out][in], any strides.
struct weight {
  std::int64_t in, out;
  const float* data;
  std::int64_t strides[2];
  const float* bias;  // [out], or null
};

/// The memory of one run.
struct projected {
  const tril_layout& x;
  const std::byte* from;
  const tril_layout& y;
  std::byte* to;
  std::byte* packed;  // of packed_bytes()
};

/// How a band of rows is cut. First they are packed, then multiplied: each of those tasks is a block of rows by some
/// panels, so that no row is packed twice.
struct projection_cut {
  std::int64_t first_row, rows;
  std::int64_t pack_tasks;
  std::int64_t block_rows, row_blocks;
  std::int64_t panels, task_panels;
  std::int64_t tasks;
};

class projection {
 public:
  /// Packs. Throws std::bad_alloc.
  projection(const contract::kernel_table& kernels, const weight& w);

  std::int64_t in() const { return in_; }
  std::int64_t out() const { return out_; }

  /// Rows that are packed before they are multiplied: enough for all threads, and not more than their caches hold.
  std::int64_t band_rows(std::int64_t rows, int threads) const;
  std::size_t packed_bytes(std::int64_t band_rows) const;
  /// Of a worker.
  std::size_t scratch_bytes() const;

  projection_cut cut(std::int64_t first_row, std::int64_t rows, int threads) const;
  void pack(const projection_cut& cut, std::int64_t task, const projected& at) const;
  void multiply(const projection_cut& cut, std::int64_t task, const projected& at, std::byte* scratch) const;

 private:
  void pack_panel(const weight& w, std::int64_t panel);
  /// Where pack() puts qk_rows rows.
  float* packed_rows(const projected& at, std::int64_t tile) const;

  const contract::kernel_table& kernels_;
  std::int64_t in_, out_;
  aligned_bytes panels_;  // [panels][in][16]
  std::vector<float> bias_;
};

}  // namespace tril::run
