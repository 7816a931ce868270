#include "run/block.hpp"

#include <algorithm>

#include "memory/workspace.hpp"
#include "run/kv_address.hpp"

namespace tril::run {

scratch_layout::scratch_layout(std::size_t block_bytes, std::int32_t block_rows) {
  const auto count = static_cast<std::size_t>(block_rows);
  workspace_layout layout;
  block = layout.reserve(block_bytes);
  rows = layout.reserve(count * sizeof(contract::query_row));
  intervals = layout.reserve(count * sizeof(plan::interval));
  masks = layout.reserve(count * contract::panels_per_split * sizeof(std::uint16_t));
  bytes = layout.bytes();
}

namespace {

/// The queries of a task one after another, all heads of a token before the next token's; then null.
class query_walk {
 public:
  query_walk(const plan::problem& p, const task_of_unit* of, const pointers& at) : p_(p), of_(of), at_(at) {}

  const std::byte* next() {
    if (of_ == nullptr || token_ == of_->task.rows) return nullptr;
    const std::int64_t head = of_->unit.kv_head * p_.group() + of_->task.first_head + head_;
    const std::byte* q = address(at_.q, p_.q, of_->unit.sequence, of_->task.first_row + token_, head);
    if (++head_ == of_->task.heads) {
      head_ = 0;
      ++token_;
    }
    return q;
  }

 private:
  const plan::problem& p_;
  const task_of_unit* of_;
  const pointers& at_;
  std::int64_t token_ = 0, head_ = 0;
};

}  // namespace

block_of_rows gather_rows(const plan::problem& p, const task_of_unit& here, const task_of_unit* next,
                          const scratch_layout& layout, std::byte* scratch, const pointers& at) {
  const auto& [task, u] = here;
  const plan::sequence& s = p.sequences[static_cast<std::size_t>(u.sequence)];
  auto* rows = reinterpret_cast<contract::query_row*>(scratch + layout.rows);
  auto* seen = reinterpret_cast<plan::interval*>(scratch + layout.intervals);
  auto* lse = reinterpret_cast<std::byte*>(at.lse);
  query_walk ahead(p, next, at);
  std::size_t count = 0;
  for (std::int64_t row = task.first_row; row < task.first_row + task.rows; ++row) {
    const plan::interval keys = plan::visible_keys(p.window, s.first_position + row, s.keys);
    for (std::int64_t h = task.first_head; h < task.first_head + task.heads; ++h, ++count) {
      const std::int64_t head = u.kv_head * p.group() + h;
      seen[count] = keys;
      rows[count] = {
          .q = address(at.q, p.q, u.sequence, row, head),
          .out = address(at.out, p.out, u.sequence, row, head),
          .lse = p.with_lse ? reinterpret_cast<float*>(address(lse, p.lse, u.sequence, row, head)) : nullptr,
          .bias = nullptr,
          .position = s.first_position + row,
          .slope = 0.0f,
          .sink = numeric::negative_infinity,
          .next_q = ahead.next(),
      };
    }
  }
  return {
      .block = {.rows = rows,
                .count = static_cast<std::int32_t>(count),
                .dim = static_cast<std::int32_t>(p.dim),
                .value_dim = static_cast<std::int32_t>(p.value_dim),
                .scale = p.scale,
                .soft_cap = 0.0f,
                .has_slopes = false,
                .scratch = scratch + layout.block},
      .seen = {seen, count},
      .any = plan::visible_keys(p.window, s, task.first_row, task.first_row + task.rows),
      .masks = reinterpret_cast<std::uint16_t*>(scratch + layout.masks),
  };
}

void attend_views(const contract::kernel_table& kernels, const plan::problem& p, const block_of_rows& rows,
                  const place& here, const place& next, const pointers& at) {
  using contract::panel_keys;
  const auto& [u, split] = here;
  const std::int64_t keys = p.sequences[static_cast<std::size_t>(u.sequence)].keys;
  const kv_address k_at(p.k, at.k, u.sequence, u.kv_head), v_at(p.v, at.v, u.sequence, u.kv_head);
  const plan::split_view view = plan::view_split(rows.seen, split, rows.masks);
  contract::view_panel panels[contract::panels_per_split];
  const void* k_rows[contract::split_keys];
  const void* v_rows[contract::split_keys];
  for (int i = 0; i < view.count; ++i) {
    const auto [slot, full] = view.panels[i];
    const std::int64_t first_key = split * contract::split_keys + slot * panel_keys;
    const auto count = static_cast<std::int32_t>(std::min<std::int64_t>(panel_keys, keys - first_key));
    k_at.rows(first_key, count, k_rows + i * panel_keys);
    v_at.rows(first_key, count, v_rows + i * panel_keys);
    panels[i] = {.k = k_rows + i * panel_keys,
                 .v = v_rows + i * panel_keys,
                 .k_scales = nullptr,
                 .v_scales = nullptr,
                 .row_masks = full ? nullptr : rows.masks + static_cast<std::size_t>(slot) * rows.seen.size(),
                 .count = count};
  }
  const void* next_keys[panel_keys];
  const std::int64_t next_key = next.split * contract::split_keys;
  const bool more = next_key + panel_keys <= keys && next.unit.sequence == u.sequence;
  if (more) kv_address(p.k, at.k, next.unit.sequence, next.unit.kv_head).rows(next_key, panel_keys, next_keys);
  if (view.count > 0)
    kernels.attend_views(rows.block, {panels, view.count, split * contract::split_keys, more ? next_keys : nullptr});
}

}  // namespace tril::run
