#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "parallel/executor.hpp"

namespace tril::parallel {
namespace {

/// oneTBB, in an arena of this executor's size, or in the caller's own arena where that is smaller. A waiting
/// thread takes no tasks from outside the run (isolation), so that a caller's lock or thread-local state never
/// meets a foreign task.
class threads_of_tbb final : public executor {
 public:
  // More threads than cores would only wait for one another, and oneTBB complains of them on stderr.
  explicit threads_of_tbb(int threads)
      : threads_(threads), arena_(std::min(threads, tbb::info::default_concurrency())), process_(getpid()) {}
  int threads() const noexcept override { return threads_; }

  bool parallel_for(std::int64_t count, task_ref task) const override {
    // A forked child has none of the parent's worker threads, and perhaps locks that they held.
    if (count == 1 || getpid() != process_) {
      for (std::int64_t i = 0; i < count; ++i) task(i);
      return true;
    }
    // Each thread takes the next index when it is done with one: tasks are large, and the heaviest come first.
    std::atomic<std::int64_t> next{0};
    const auto run = [&] {
      tbb::parallel_for(
          0, static_cast<int>(std::min<std::int64_t>(threads_, count)),
          [&](int) {
            for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) task(i);
          },
          tbb::simple_partitioner());
    };
    if (tbb::this_task_arena::max_concurrency() <= threads_)
      tbb::this_task_arena::isolate(run);
    else
      arena_.execute([&] { tbb::this_task_arena::isolate(run); });
    return true;
  }

 private:
  int threads_;
  mutable tbb::task_arena arena_;
  pid_t process_;
};

}  // namespace

std::unique_ptr<executor> make_threads(int threads) { return std::make_unique<threads_of_tbb>(threads); }

}  // namespace tril::parallel
