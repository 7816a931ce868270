#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

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

/// A problem made ready to run with one table of kernels by at most `workers` threads at once: stages in
/// order, within a stage tasks in any order. A task's result depends on nothing but its rows.
class work {
 public:
  virtual ~work() = default;

  /// The kernel that attends, by its label.
  virtual const char* kernel() const = 0;

  virtual std::int64_t stages() const = 0;
  virtual std::int64_t tasks(std::int64_t stage) const = 0;

  /// Runs one task, with the scratch of `worker`.
  virtual void run_task(std::int64_t stage, std::int64_t task, int worker, const pointers& at) const = 0;

  const planning::problem& problem() const { return problem_; }
  int workers() const { return workers_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }

 protected:
  work(planning::problem problem, const contract::kernel_table& kernels, int workers)
      : problem_(std::move(problem)), kernels_(kernels), workers_(workers) {}

  planning::problem problem_;
  const contract::kernel_table& kernels_;
  int workers_;
  std::size_t workspace_bytes_ = 0;
};

/// Packed K and V, and states between rounds, that prefill keeps at once. A larger problem goes through in waves of KV
/// heads; where a head is large by itself, in rounds of its keys.
inline constexpr std::int64_t prefill_cap = std::int64_t{64} << 20;

/// Many rows: K and V are packed once, then every block of rows attends to the packed panels.
std::unique_ptr<work> make_prefill(planning::problem problem, const contract::kernel_table& kernels, int workers,
                                   std::int64_t cap = prefill_cap);

/// Few rows: K and V are read once, as they lie; a long sequence is spread over the workers.
std::unique_ptr<work> make_decode(planning::problem problem, const contract::kernel_table& kernels, int workers);

/// Whichever of the two suits the problem.
std::unique_ptr<work> make_work(planning::problem problem, const contract::kernel_table& kernels, int workers);

}  // namespace tril::run
