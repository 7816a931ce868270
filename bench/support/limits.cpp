#include "support/limits.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace tril::bench {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  if (sorted.empty()) return 0;
  return sorted.size() % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

namespace {

/// Keeps the calling thread on one of the processors it may use, for the life of this object: two threads that
/// were just made may share a processor for longer than a probe takes.
class on_processor {
 public:
  explicit on_processor(int number) {
    sched_getaffinity(0, sizeof before_, &before_);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &before_) && number-- == 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
      }
  }
  ~on_processor() { sched_setaffinity(0, sizeof before_, &before_); }
  on_processor(const on_processor&) = delete;
  on_processor& operator=(const on_processor&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace

double limits::together(const std::function<void(int)>& work) const {
  std::atomic<int> waiting{threads_};
  std::vector<double> begin(static_cast<std::size_t>(threads_)), end(begin);
  const auto run = [&](int thread) {
    const on_processor own(thread);
    waiting.fetch_sub(1);
    while (waiting.load() > 0) std::this_thread::yield();
    begin[static_cast<std::size_t>(thread)] = now();
    work(thread);
    end[static_cast<std::size_t>(thread)] = now();
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads_; ++thread) others.emplace_back(run, thread);
  run(0);
  for (std::thread& other : others) other.join();
  return *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
}

double limits::flops(bool many_chains) const {
  std::vector<contract::peak_args> args(static_cast<std::size_t>(threads_));
  for (auto& a : args) a = {.steps = 100'000, .many = many_chains, .flops = 0, .result = 0};
  const double seconds = together([&](int thread) { kernels_.peak(args[static_cast<std::size_t>(thread)]); });
  double flops = 0;
  for (const auto& a : args) flops += a.result == 0.5f ? 0 : a.flops;  // never, but the compiler cannot know
  return flops / seconds;
}

double limits::bandwidth(std::span<const std::span<const float>> buffers) const {
  double bytes = 0;
  for (const auto& buffer : buffers) bytes += static_cast<double>(buffer.size_bytes());
  std::vector<float> sums(static_cast<std::size_t>(threads_));
  const double seconds = together([&](int thread) {
    for (const auto& buffer : buffers) {
      const std::size_t part = buffer.size() / static_cast<std::size_t>(threads_);
      sums[static_cast<std::size_t>(thread)] +=
          kernels_.read(buffer.data() + static_cast<std::size_t>(thread) * part, static_cast<std::int64_t>(part));
    }
  });
  return bytes / seconds;
}

}  // namespace tril::bench
