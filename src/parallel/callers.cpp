#include <atomic>

#include "parallel/executor.hpp"

namespace tril::parallel {
namespace {

/// A number that differs from index to index in all bits (the finaliser of splitmix64, Steele et al. 2014), so
/// that sums of them tell whether every index came up once without a list of those that did.
std::uint64_t scrambled(std::int64_t i) {
  std::uint64_t x = static_cast<std::uint64_t>(i) + 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// The caller's own threads.
class callers final : public executor {
 public:
  callers(const tril_executor& executor, int threads) : executor_(executor), threads_(threads) {}
  int threads() const noexcept override { return threads_; }

  bool parallel_for(std::int64_t count, task_ref task) const override {
    struct closure {
      task_ref task;
      std::int64_t count;
      std::atomic<std::int64_t> ran{0};
      std::atomic<std::uint64_t> digest{0};
    } run{task, count};
    executor_.parallel_for(
        executor_.self, count,
        [](void* self, std::int64_t i) {
          closure& c = *static_cast<closure*>(self);
          c.ran.fetch_add(1, std::memory_order_relaxed);
          c.digest.fetch_add(scrambled(i), std::memory_order_relaxed);
          if (i >= 0 && i < c.count) c.task(i);
        },
        &run);
    std::uint64_t expected = 0;
    for (std::int64_t i = 0; i < count; ++i) expected += scrambled(i);
    return run.ran.load() == count && run.digest.load() == expected;
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
