#include "run/projection.hpp"

#include <algorithm>
#include <new>

#include "memory/workspace.hpp"
#include "run/kv_address.hpp"

namespace tril::run {
namespace {

using contract::panel_keys;

constexpr std::int64_t up(std::int64_t count, std::int64_t per) { return (count + per - 1) / per; }

float* panel_at(std::byte* panels, std::int64_t in, std::int64_t panel) {
  return reinterpret_cast<float*>(panels) + panel * contract::k_panel_elements(in);
}

/// Row i of [batch][rows].
template <class Byte>
Byte* row_at(Byte* data, const tril_layout& l, std::int64_t i) {
  return address(data, l, i / l.extents[1], i % l.extents[1], 0);
}

}  // namespace

projection::projection(const contract::kernel_table& kernels, const weight& w)
    : kernels_(kernels), in_(w.in), out_(w.out) {
  const std::int64_t panels = up(out_, panel_keys);
  const auto bytes = static_cast<std::size_t>(panels * contract::k_panel_elements(in_)) * sizeof(float);
  panels_ = allocate_aligned(bytes);
  if (panels_ == nullptr) throw std::bad_alloc();
  if (w.bias != nullptr) bias_.assign(w.bias, w.bias + out_);
  for (std::int64_t panel = 0; panel < panels; ++panel) pack_panel(w, panel);
}

void projection::pack_panel(const weight& w, std::int64_t panel) {
  const std::int64_t first = panel * panel_keys;
  const auto count = static_cast<int>(std::min<std::int64_t>(panel_keys, out_ - first));
  const float* from = w.data + first * w.strides[0];
  float* to = panel_at(panels_.get(), in_, panel);
  if (w.strides[1] == 1 || in_ == 1) {
    for (std::int64_t c = 0; c < in_; c += contract::max_dim) {
      const void* rows[panel_keys];
      for (int i = 0; i < count; ++i) rows[i] = from + i * w.strides[0] + c;
      kernels_.pack_k({.rows = rows,
                       .count = count,
                       .extent = static_cast<std::int32_t>(std::min(contract::max_dim, in_ - c)),
                       .panel = to + c * panel_keys});
    }
  } else {
    for (std::int64_t c = 0; c < in_; ++c)
      for (int i = 0; i < panel_keys; ++i)
        to[c * panel_keys + i] = i < count ? from[i * w.strides[0] + c * w.strides[1]] : 0.0f;
  }
}

projection_cut projection::cut(std::int64_t rows, int threads) const {
  const contract::tile_sizes& tiles = kernels_.tiles;
  projection_cut c;
  c.rows = rows;
  c.row_blocks = up(rows, tiles.block_rows);
  c.block_rows = contract::round_up(up(rows, c.row_blocks), tiles.qk_rows);
  c.panels = up(out_, panel_keys);
  constexpr std::int64_t blocks_per_thread = 4, tasks_per_thread = 16, least_panels = 4;
  const bool shared = threads > 1 && c.row_blocks < threads * blocks_per_thread;
  c.task_panels =
      shared ? contract::round_up(up(c.panels * c.row_blocks, threads * tasks_per_thread), least_panels) : c.panels;
  c.tasks = c.row_blocks * up(c.panels, c.task_panels);
  c.pack_tasks = shared ? up(rows, tiles.qk_rows) : 0;

  const std::int64_t tiles_of_rows = up(shared ? rows : c.block_rows, tiles.qk_rows);
  const auto packed = sizeof(float) * static_cast<std::size_t>(tiles_of_rows * contract::packed_x_floats(tiles, in_));
  c.shared_bytes = shared ? packed : 0;
  workspace_layout scratch;
  scratch.reserve(sizeof(float) * static_cast<std::size_t>(c.block_rows * contract::split_keys));
  scratch.reserve(shared ? 0 : packed);
  c.scratch_bytes = scratch.bytes();
  return c;
}

void projection::pack(const projection_cut& cut, std::int64_t task, const projected& at) const {
  float* to = reinterpret_cast<float*>(at.shared) + task * contract::packed_x_floats(kernels_.tiles, in_);
  pack_rows(cut, task * kernels_.tiles.qk_rows, at, to);
}

void projection::pack_rows(const projection_cut& cut, std::int64_t first, const projected& at, float* to) const {
  const float* x[contract::max_block_rows];
  const auto rows = static_cast<std::int32_t>(std::min<std::int64_t>(kernels_.tiles.qk_rows, cut.rows - first));
  for (std::int64_t i = 0; i < rows; ++i) x[i] = reinterpret_cast<const float*>(row_at(at.from, at.x, first + i));
  const bool together = at.x.extents[2] == 1 || at.x.strides[2] == at.x.extents[3];
  kernels_.pack_x({.x = x,
                   .rows = rows,
                   .heads = together ? 1 : at.x.extents[2],
                   .dim = together ? in_ : at.x.extents[3],
                   .head_stride = at.x.strides[2],
                   .packed = to});
}

void projection::multiply(const projection_cut& cut, std::int64_t task, const projected& at, std::byte* scratch) const {
  // Neighbouring tasks share panels, not rows: there are more of the former.
  const std::int64_t first = task % cut.row_blocks * cut.block_rows;
  const std::int64_t first_panel = task / cut.row_blocks * cut.task_panels;
  const auto rows = static_cast<std::int32_t>(std::min(cut.block_rows, cut.rows - first));
  const std::int64_t tile_rows = kernels_.tiles.qk_rows, tile_floats = contract::packed_x_floats(kernels_.tiles, in_);
  auto* sums = reinterpret_cast<float*>(scratch);
  float* own = sums + cut.block_rows * contract::split_keys;
  float* x = cut.shared_bytes > 0 ? reinterpret_cast<float*>(at.shared) + first / tile_rows * tile_floats : own;
  if (x == own)
    for (std::int64_t row = 0; row < rows; row += tile_rows)
      pack_rows(cut, first + row, at, own + row / tile_rows * tile_floats);

  float* y[contract::max_block_rows];
  for (std::int64_t i = 0; i < rows; ++i) y[i] = reinterpret_cast<float*>(row_at(at.to, at.y, first + i));
  kernels_.project({.x = x,
                    .y = y,
                    .rows = rows,
                    .in = in_,
                    .weight = reinterpret_cast<const float*>(panels_.get()),
                    .bias = bias_.empty() ? nullptr : bias_.data(),
                    .out = out_,
                    .first_panel = first_panel,
                    .last_panel = std::min(cut.panels, first_panel + cut.task_panels),
                    .sums = sums});
}

}  // namespace tril::run
