#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/table.hpp"
#include "plan/cut.hpp"

namespace tril::run {

/// The memory of one run.
struct pointers {
  const std::byte *q, *k, *v;
  std::byte* out;
  float* lse;
  std::byte* workspace;
};

/// A problem made ready to run with one table of kernels: a stage packs the keys and values of a wave of KV
/// heads, the next one attends to them.
class prefill {
 public:
  prefill(plan::problem problem, const contract::kernel_table& kernels, int workers);

  const plan::problem& problem() const { return problem_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  std::int64_t stages() const { return 2 * static_cast<std::int64_t>(schedule_.waves.size()); }
  std::int64_t tasks(std::int64_t stage) const;
  int workers() const { return workers_; }

  /// Runs one task, with the scratch of `worker`.
  void run_task(std::int64_t stage, std::int64_t task, int worker, const pointers& at) const;

 private:
  void pack(const plan::pack_task& task, const pointers& at) const;
  void attend(const plan::attend_task& task, int worker, const pointers& at) const;

  /// Offsets of a unit's packed panels in the workspace; each wave starts again at the front.
  struct packed_unit {
    std::size_t k, v, v_finite;
  };
  /// Offsets in a worker's part of the workspace.
  struct scratch_layout {
    std::size_t block, rows, intervals, masks, bytes;
  };

  plan::problem problem_;
  const contract::kernel_table& kernels_;
  int workers_;
  plan::schedule schedule_;
  std::vector<packed_unit> packed_;
  scratch_layout scratch_;
  std::size_t scratch_offset_ = 0;  // behind the packed panels
  std::size_t workspace_bytes_ = 0;
};

}  // namespace tril::run
