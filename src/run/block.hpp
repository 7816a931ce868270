#pragma once

/// A worker's scratch, and the rows of a task as a kernel takes them.

#include <span>

#include "run/work.hpp"

namespace tril::run {

/// Offsets in a worker's part of the workspace.
struct scratch_layout {
  std::size_t block;      // the kernels' own
  std::size_t rows;       // contract::query_row per row
  std::size_t intervals;  // plan::interval per row
  std::size_t masks;      // 16 bits per row and panel of a split
  std::size_t bytes;

  scratch_layout(std::size_t block_bytes, std::int32_t block_rows);
};

/// The rows of a task: those of `heads` query heads of a KV head, at consecutive rows of a sequence.
struct block_of_rows {
  contract::row_block block;
  std::span<const plan::interval> seen;  // what each row sees
  plan::interval any;                    // holds what some row sees
  std::uint16_t* masks;
};

/// A task, and the unit that it belongs to.
struct task_of_unit {
  const plan::attend_task& task;
  const plan::unit& unit;
};

/// `next`: the task that this worker will probably take next, or null.
block_of_rows gather_rows(const plan::problem& p, const task_of_unit& here, const task_of_unit* next,
                          const scratch_layout& layout, std::byte* scratch, const pointers& at);

/// One split of one unit.
struct place {
  const plan::unit& unit;
  std::int64_t split;
};

/// Attends to a split as its keys and values lie in memory; the caller goes on with `next`, which may not exist.
void attend_views(const contract::kernel_table& kernels, const plan::problem& p, const block_of_rows& rows,
                  const place& here, const place& next, const pointers& at);

}  // namespace tril::run
