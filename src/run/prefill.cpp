#include "run/prefill.hpp"

#include <algorithm>
#include <utility>

#include "memory/workspace.hpp"
#include "run/kv_address.hpp"

namespace tril::run {
namespace {

using contract::panel_keys;
using contract::split_keys;

/// Packed K and V kept at once; a larger problem goes through in waves of KV heads.
constexpr std::int64_t packed_bytes_cap = std::int64_t{64} << 20;

std::int64_t k_panel_bytes(const plan::problem& p) { return 4 * contract::k_panel_elements(p.dim); }
std::int64_t v_panel_bytes(const plan::problem& p) { return 4 * contract::v_panel_elements(p.value_dim); }

}  // namespace

prefill::prefill(plan::problem problem, const contract::kernel_table& kernels, int workers)
    : problem_(std::move(problem)),
      kernels_(kernels),
      workers_(workers),
      schedule_(plan::cut(problem_, kernels.tiles.block_rows, k_panel_bytes(problem_) + v_panel_bytes(problem_),
                          packed_bytes_cap)),
      packed_(schedule_.units.size()) {
  for (const plan::wave& w : schedule_.waves) {
    workspace_layout layout;
    for (auto i = static_cast<std::size_t>(w.first_unit); i < static_cast<std::size_t>(w.last_unit); ++i) {
      const auto panels = static_cast<std::size_t>(schedule_.units[i].panels);
      packed_[i].k = layout.reserve(panels * static_cast<std::size_t>(k_panel_bytes(problem_)));
      packed_[i].v = layout.reserve(panels * static_cast<std::size_t>(v_panel_bytes(problem_)));
      packed_[i].v_finite = layout.reserve(panels);
    }
    scratch_offset_ = std::max(scratch_offset_, layout.bytes());
  }
  const auto rows = static_cast<std::size_t>(kernels.tiles.block_rows);
  workspace_layout scratch;
  scratch_.block = scratch.reserve(kernels.block_bytes(problem_.dim, problem_.value_dim));
  scratch_.rows = scratch.reserve(rows * sizeof(contract::query_row));
  scratch_.intervals = scratch.reserve(rows * sizeof(plan::interval));
  scratch_.masks = scratch.reserve(rows * contract::panels_per_split * sizeof(std::uint16_t));
  scratch_.bytes = scratch.bytes();
  if (!schedule_.waves.empty())
    workspace_bytes_ = scratch_offset_ + scratch_.bytes * static_cast<std::size_t>(workers_);
}

std::int64_t prefill::tasks(std::int64_t stage) const {
  const plan::wave& w = schedule_.waves[static_cast<std::size_t>(stage / 2)];
  return static_cast<std::int64_t>(stage % 2 == 0 ? w.pack.size() : w.attend.size());
}

void prefill::run_task(std::int64_t stage, std::int64_t task, int worker, const pointers& at) const {
  const plan::wave& w = schedule_.waves[static_cast<std::size_t>(stage / 2)];
  const auto i = static_cast<std::size_t>(task);
  if (stage % 2 == 0)
    pack(w.pack[i], at);
  else
    attend(w.attend[i], worker, at);
}

void prefill::pack(const plan::pack_task& task, const pointers& at) const {
  const plan::unit& u = schedule_.units[static_cast<std::size_t>(task.unit)];
  const packed_unit& packed = packed_[static_cast<std::size_t>(task.unit)];
  const std::int64_t keys = problem_.sequences[static_cast<std::size_t>(u.sequence)].keys;
  const kv_address k_at{problem_.k, at.k}, v_at{problem_.v, at.v};
  for (std::int64_t panel = task.first_panel; panel < task.first_panel + task.panels; ++panel) {
    const std::int64_t first_key = (u.first_panel + panel) * panel_keys;
    const auto count = static_cast<std::int32_t>(std::min<std::int64_t>(panel_keys, keys - first_key));
    const void* rows[panel_keys];
    for (int i = 0; i < count; ++i) rows[i] = k_at(u.sequence, first_key + i, u.kv_head);
    kernels_.pack_k({rows, count, static_cast<std::int32_t>(problem_.dim),
                     at.workspace + packed.k + panel * k_panel_bytes(problem_)});
    for (int i = 0; i < count; ++i) rows[i] = v_at(u.sequence, first_key + i, u.kv_head);
    const bool finite = kernels_.pack_v({rows, count, static_cast<std::int32_t>(problem_.value_dim),
                                         at.workspace + packed.v + panel * v_panel_bytes(problem_)});
    at.workspace[packed.v_finite + static_cast<std::size_t>(panel)] = std::byte{finite};
  }
}

void prefill::attend(const plan::attend_task& task, int worker, const pointers& at) const {
  const plan::unit& u = schedule_.units[static_cast<std::size_t>(task.unit)];
  const packed_unit& packed = packed_[static_cast<std::size_t>(task.unit)];
  const plan::sequence& s = problem_.sequences[static_cast<std::size_t>(u.sequence)];
  std::byte* scratch = at.workspace + scratch_offset_ + scratch_.bytes * static_cast<std::size_t>(worker);
  auto* rows = reinterpret_cast<contract::query_row*>(scratch + scratch_.rows);
  auto* seen = reinterpret_cast<plan::interval*>(scratch + scratch_.intervals);
  auto* masks = reinterpret_cast<std::uint16_t*>(scratch + scratch_.masks);

  std::size_t count = 0;
  for (std::int64_t row = task.first_row; row < task.first_row + task.rows; ++row) {
    const plan::interval keys = plan::visible_keys(problem_.window, s.first_position + row, s.keys);
    for (std::int64_t h = task.first_head; h < task.first_head + task.heads; ++h, ++count) {
      const std::int64_t head = u.kv_head * problem_.group() + h;
      seen[count] = keys;
      rows[count] = {.q = address(at.q, problem_.q, u.sequence, row, head),
                     .out = address(at.out, problem_.out, u.sequence, row, head),
                     .lse = problem_.with_lse ? reinterpret_cast<float*>(address(reinterpret_cast<std::byte*>(at.lse),
                                                                                 problem_.lse, u.sequence, row, head))
                                              : nullptr,
                     .bias = nullptr,
                     .position = s.first_position + row,
                     .slope = 0.0f,
                     .sink = numeric::negative_infinity};
    }
  }
  const contract::row_block block = {.rows = rows,
                                     .count = static_cast<std::int32_t>(count),
                                     .dim = static_cast<std::int32_t>(problem_.dim),
                                     .value_dim = static_cast<std::int32_t>(problem_.value_dim),
                                     .scale = problem_.scale,
                                     .soft_cap = 0.0f,
                                     .has_slopes = false,
                                     .scratch = scratch + scratch_.block};

  kernels_.begin_rows(block);
  const plan::interval any = plan::visible_keys(problem_.window, s, task.first_row, task.first_row + task.rows);
  for (std::int64_t split = any.first / split_keys; split * split_keys < any.last; ++split) {
    const plan::split_view view = plan::view_split({seen, count}, split, masks);
    contract::key_panel panels[contract::panels_per_split];
    for (int i = 0; i < view.count; ++i) {
      const auto [slot, full] = view.panels[i];
      const std::int64_t panel = split * contract::panels_per_split + slot - u.first_panel;
      panels[i] = {.k = at.workspace + packed.k + panel * k_panel_bytes(problem_),
                   .v = at.workspace + packed.v + panel * v_panel_bytes(problem_),
                   .k_scales = nullptr,
                   .v_scales = nullptr,
                   .row_masks = full ? nullptr : masks + static_cast<std::size_t>(slot) * count,
                   .slot = slot,
                   .v_finite = at.workspace[packed.v_finite + static_cast<std::size_t>(panel)] != std::byte{0}};
    }
    if (view.count > 0) kernels_.attend_split(block, {panels, view.count, split * split_keys});
  }
  kernels_.finish_rows(block);
}

}  // namespace tril::run
