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
  std::byte* shared;  // shared_bytes of the cut
};

/// How the rows of one run are cut: each task is a block of rows by some panels. Where blocks are too few for the
/// threads, tasks share rows, which are then packed first, and once; else a task packs its own.
struct projection_cut {
  std::int64_t rows, block_rows, row_blocks;
  std::int64_t panels, task_panels;
  std::int64_t pack_tasks, tasks;  // one stage after the other
  std::size_t shared_bytes;        // packed rows
  std::size_t scratch_bytes;       // of a worker
};

class projection {
 public:
  /// Packs. Throws std::bad_alloc.
  projection(const contract::kernel_table& kernels, const weight& w);

  std::int64_t in() const { return in_; }
  std::int64_t out() const { return out_; }

  projection_cut cut(std::int64_t rows, int threads) const;
  void pack(const projection_cut& cut, std::int64_t task, const projected& at) const;
  void multiply(const projection_cut& cut, std::int64_t task, const projected& at, std::byte* scratch) const;

 private:
  void pack_panel(const weight& w, std::int64_t panel);
  /// Up to qk_rows rows, from `first` on.
  void pack_rows(const projection_cut& cut, std::int64_t first, const projected& at, float* to) const;

  const contract::kernel_table& kernels_;
  std::int64_t in_, out_;
  aligned_bytes panels_;  // [panels][in][16]
  std::vector<float> bias_;
};

}  // namespace tril::run
