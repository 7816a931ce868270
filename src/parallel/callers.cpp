#include <atomic>

#include "parallel/executor.hpp"

namespace tril::parallel {
namespace {

/// The caller's own threads.
class callers final : public executor {
 public:
  callers(const tril_executor& executor, int threads) : executor_(executor), threads_(threads) {}
  int threads() const noexcept override { return threads_; }

  bool parallel_for(std::int64_t count, task_ref task) const override {
    // The sum of the indices that ran tells skipped and repeated tasks apart from a complete run, unless one
    // fault makes up for another; indices out of range are never handed on.
    struct closure {
      task_ref task;
      std::int64_t count;
      std::atomic<std::int64_t> ran{0};
      std::atomic<std::int64_t> index_sum{0};
    } run{task, count};
    executor_.parallel_for(
        executor_.self, count,
        [](void* self, std::int64_t i) {
          closure& c = *static_cast<closure*>(self);
          c.ran.fetch_add(1, std::memory_order_relaxed);
          if (i < 0 || i >= c.count) return;
          c.index_sum.fetch_add(i, std::memory_order_relaxed);
          c.task(i);
        },
        &run);
    return run.ran.load() == count && run.index_sum.load() == count * (count - 1) / 2;
  }

 private:
  tril_executor executor_;
  int threads_;
};

}  // namespace

std::unique_ptr<executor> make_callers(const tril_executor& executor, int threads) {
  return std::make_unique<callers>(executor, threads);
}

}  // namespace tril::parallel
