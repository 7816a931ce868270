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

/// Addresses of a task's rows of one tensor, all heads of a token before the next token's.
template <class Byte>
class row_walk {
 public:
  row_walk(Byte* data, const tril_layout& l, const planning::problem& p, const task_of_unit& of)
      : data_(data),
        layout_(l),
        of_(of),
        first_head_(of.unit.kv_head * p.group() + of.task.first_head),
        head_step_(l.extents[2] > 1 ? l.strides[2] * element_bytes(l.dtype) : 0) {}

  /// Null behind the last row, and where there is no tensor.
  Byte* next() {
    if (data_ == nullptr || token_ == of_.task.rows) return nullptr;
    if (head_ == 0) at_ = address(data_, layout_, of_.unit.sequence, of_.task.first_row + token_, first_head_);
    Byte* row = at_ + head_ * head_step_;
    if (++head_ == of_.task.heads) {
      head_ = 0;
      ++token_;
    }
    return row;
  }

 private:
  Byte* data_;
  const tril_layout& layout_;
  const task_of_unit& of_;
  const std::int64_t first_head_, head_step_;
  std::int64_t token_ = 0, head_ = 0;
  Byte* at_ = nullptr;
};

}  // namespace

block_of_rows gather_rows(const planning::problem& p, const task_of_unit& here, const task_of_unit* next,
                          const scratch_layout& layout, std::byte* scratch, const pointers& at) {
  const auto& [task, u] = here;
  const planning::sequence& s = p.sequences[static_cast<std::size_t>(u.sequence)];
  auto* rows = reinterpret_cast<contract::query_row*>(scratch + layout.rows);
  auto* seen = reinterpret_cast<planning::interval*>(scratch + layout.intervals);
  row_walk q(at.q, p.q, p, here), ahead(next ? at.q : nullptr, p.q, p, next ? *next : here);
  row_walk out(at.out, p.out, p, here),
      lse(p.with_lse ? reinterpret_cast<std::byte*>(at.lse) : nullptr, p.lse, p, here);
  std::size_t count = 0;
  for (std::int64_t row = task.first_row; row < task.first_row + task.rows; ++row) {
    const planning::interval keys = planning::visible_keys(p.window, s.first_position + row, s.keys);
    for (std::int32_t head = 0; head < task.heads; ++head, ++count) {
      seen[count] = keys;
      rows[count] = {
          .q = q.next(),
          .out = out.next(),
          .lse = reinterpret_cast<float*>(lse.next()),
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
