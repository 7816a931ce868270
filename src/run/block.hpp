#pragma once

/// A worker's scratch, and the rows of a task as a kernel takes them.

#include <span>

#include "run/work.hpp"

namespace tril::run {

/// Offsets in a worker's part of the workspace.
struct scratch_layout {
  std::size_t block;      // the kernels' own
  std::size_t rows;       // contract::query_row per row
  std::size_t intervals;  // planning::interval per row
  std::size_t masks;      // 16 bits per row and panel of a split
  std::size_t bytes;

  scratch_layout(std::size_t block_bytes, std::int32_t block_rows);
};

/// The rows of a task: those of `heads` query heads of a KV head, at consecutive rows of a sequence.
struct block_of_rows {
  contract::row_block block;
  std::span<const planning::interval> seen;  // what each row sees
  planning::interval any;                    // holds what some row sees
  std::uint16_t* masks;
};

/// A task, and the unit that it belongs to.
struct task_of_unit {
  const planning::attend_task& task;
  const planning::unit& unit;
};

/// `next`: the task that this worker will probably take next, or null.
block_of_rows gather_rows(const planning::problem& p, const task_of_unit& here, const task_of_unit* next,
                          const scratch_layout& layout, std::byte* scratch, const pointers& at);

}  // namespace tril::run
