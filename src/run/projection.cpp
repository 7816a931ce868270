#include "run/projection.hpp"

#include <algorithm>
#include <new>

#include "run/kv_address.hpp"

namespace tril::run {
namespace {

using contract::panel_keys;

constexpr std::int64_t up(std::int64_t count, std::int64_t per) { return (count + per - 1) / per; }

float* panel_at(std::byte* panels, std::int64_t in, std::int64_t panel) {
  return reinterpret_cast<float*>(panels) + panel * contract::k_panel_elements(in);
}

}  // namespace

projection::projection(const contract::kernel_table& kernels, const weight& w)
    : kernels_(kernels), in_(w.in), out_(w.out) {
  const std::int64_t panels = up(out_, panel_keys);
  const auto bytes = static_cast<std::size_t>(panels * contract::k_panel_elements(in_)) * sizeof(float);
  if (bytes <= largest_allocation) panels_ = allocate_aligned(bytes);
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
  projection_cut c;
  c.rows = rows;
  c.row_blocks = up(rows, kernels_.tiles.block_rows);
  c.block_rows = rows == 0 ? 0 : contract::round_up(up(rows, c.row_blocks), kernels_.tiles.qk_rows);
  // Rows are packed by each task anew, which takes as long as the products with a few outputs.
  constexpr int few_rows = 4;
  const std::int64_t least = rows <= few_rows ? 4 : contract::panels_per_split;
  constexpr std::int64_t tasks_per_thread = 4;
  c.panels = up(out_, panel_keys);
  c.task_panels =
      threads == 1 ? c.panels : contract::round_up(up(c.panels * c.row_blocks, threads * tasks_per_thread), least);
  c.task_panels = std::clamp(c.task_panels, std::int64_t{1}, c.panels);
  c.tasks = c.row_blocks * up(c.panels, c.task_panels);
  const auto floats = contract::project_floats(kernels_.tiles, std::min(rows, c.block_rows), in_);
  c.scratch_bytes = contract::round_up(floats, cache_line) * sizeof(float);
  return c;
}

void projection::run_task(const projection_cut& cut, std::int64_t task, const projected_rows& at,
                          std::byte* scratch) const {
  const float* x[contract::max_block_rows];
  float* y[contract::max_block_rows];
  // Neighbouring tasks share panels, not rows: there are more of the former.
  const std::int64_t first_row = task % cut.row_blocks * cut.block_rows;
  const std::int64_t first_panel = task / cut.row_blocks * cut.task_panels;
  const auto rows = static_cast<std::int32_t>(std::min(cut.block_rows, cut.rows - first_row));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t sequence = (first_row + i) / at.x.extents[1], token = (first_row + i) % at.x.extents[1];
    x[i] = reinterpret_cast<const float*>(address(at.from, at.x, sequence, token, 0));
    y[i] = reinterpret_cast<float*>(address(at.to, at.y, sequence, token, 0));
  }
  const bool together = at.x.extents[2] == 1 || at.x.strides[2] == at.x.extents[3];
  kernels_.project({.x = x,
                    .y = y,
                    .rows = rows,
                    .heads = together ? 1 : at.x.extents[2],
                    .dim = together ? in_ : at.x.extents[3],
                    .head_stride = at.x.strides[2],
                    .weight = reinterpret_cast<const float*>(panels_.get()),
                    .bias = bias_.empty() ? nullptr : bias_.data(),
                    .out = out_,
                    .first_panel = first_panel,
                    .last_panel = std::min(cut.panels, first_panel + cut.task_panels),
                    .scratch = reinterpret_cast<float*>(scratch)});
}

}  // namespace tril::run
