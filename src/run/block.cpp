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
  intervals = layout.reserve(count * sizeof(planning::interval));
  masks = layout.reserve(count * contract::panels_per_split * sizeof(std::uint16_t));
  bytes = layout.bytes();
}

namespace {

/// The queries of a task one after another, all heads of a token before the next token's; then null.
class query_walk {
 public:
  query_walk(const planning::problem& p, const task_of_unit* of, const pointers& at) : p_(p), of_(of), at_(at) {}

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
  const planning::problem& p_;
  const task_of_unit* of_;
  const pointers& at_;
  std::int64_t token_ = 0, head_ = 0;
};

}  // namespace

block_of_rows gather_rows(const planning::problem& p, const task_of_unit& here, const task_of_unit* next,
                          const scratch_layout& layout, std::byte* scratch, const pointers& at) {
  const auto& [task, u] = here;
  const planning::sequence& s = p.sequences[static_cast<std::size_t>(u.sequence)];
  auto* rows = reinterpret_cast<contract::query_row*>(scratch + layout.rows);
  auto* seen = reinterpret_cast<planning::interval*>(scratch + layout.intervals);
  auto* lse = reinterpret_cast<std::byte*>(at.lse);
  query_walk ahead(p, next, at);
  std::size_t count = 0;
  for (std::int64_t row = task.first_row; row < task.first_row + task.rows; ++row) {
    const planning::interval keys = planning::visible_keys(p.window, s.first_position + row, s.keys);
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
      .any = planning::visible_keys(p.window, s, task.first_row, task.first_row + task.rows),
      .masks = reinterpret_cast<std::uint16_t*>(scratch + layout.masks),
  };
}

}  // namespace tril::run
