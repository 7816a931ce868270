#pragma once

/// Included last by an instruction set's table.cpp: makes its one exported object.

#include "contract/table.hpp"
#include "kernels/generic/decode.hpp"
#include "kernels/generic/peak.hpp"
#include "kernels/generic/prefill.hpp"
#include "kernels/generic/project.hpp"

namespace tril::TRIL_ISA {
namespace {

std::size_t block_bytes(std::int64_t dim, std::int64_t value_dim) {
  return sizeof(float) * static_cast<std::size_t>(block_floats(dim, value_dim));
}

std::size_t view_bytes(std::int64_t dim, std::int64_t value_dim) {
  return sizeof(float) * static_cast<std::size_t>(block_floats(dim, value_dim) + view_floats(dim, value_dim));
}

// The steps on their own, for tests and benchmarks.
void exp_alone(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += width) store(x + i, exp32(load(x + i)));
}
void qk_alone(const contract::qk_args& args) {
  float lane_max[tiles.qk_rows * panel_keys] = {};
  qk<score_tile::with_maxima>(tiles.qk_rows, args.q, args.k, tiles.qk_panels, args.dim, args.scores, lane_max,
                              nothing_ahead{args.k});
}
void softmax_alone(contract::softmax_args& args) { softmax<false>(args.scores, 1, args.panels, &args.max, &args.sum); }
void pv_alone(const contract::pv_args& args) {
  float keep[tiles.qk_rows], take[tiles.qk_rows];
  for (int row = 0; row < tiles.qk_rows; ++row) {
    keep[row] = 0.0f;
    take[row] = 1.0f;
  }
  pv(tiles.qk_rows, args.weights, args.v, args.panels, true, tiles.pv_columns, keep, take, args.out, true,
     nothing_ahead{args.v});
}

}  // namespace

extern const contract::kernel_table table;  // what the registry refers to
constinit const contract::kernel_table table = {
    .name = isa::name,
    .fused = fused,
    .width = width,
    .tiles = tiles,
    .block_bytes = block_bytes,
    .view_bytes = view_bytes,
    .pack_k = pack_k,
    .pack_v = pack_v,
    .qk = qk_alone,
    .softmax = softmax_alone,
    .pv = pv_alone,
    .begin_rows = begin_rows,
    .attend_split = attend_split,
    .attend_views = attend_views,
    .save_rows = save_rows,
    .fold_rows = fold_rows,
    .finish_rows = finish_rows,
    .merge = merge_rows,
    .pack_x = pack_x,
    .project = project,
    .exp = exp_alone,
    .peak = peak,
    .read = read,
};

}  // namespace tril::TRIL_ISA
