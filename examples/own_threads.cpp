// Threads of your own, in two ways. An executor: tril cuts the work and your pool runs it. Or a plan's stages and
// tasks: your threads, already running and with a barrier of their own, pick up the pieces themselves.

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdio>
#include <thread>
#include <tril/tril.hpp>
#include <vector>

namespace {

constexpr int threads = 3;

/// What `parallel_for` of a pool looks like to tril; a real one keeps its threads.
struct pool {
  int64_t tasks_run = 0;

  static void parallel_for(void* self, int64_t count, void (*task)(void* closure, int64_t i), void* closure) {
    std::atomic<int64_t> next = 0;
    const auto work = [&] {
      for (int64_t i; (i = next++) < count;) task(closure, i);
    };
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(work);
    work();  // the calling thread works too; the others are joined on return
    static_cast<pool*>(self)->tasks_run += count;
  }
};

struct alignas(64) cache_line {
  std::byte bytes[64];
};

/// Every thread of the engine runs this. A stage is over when all its tasks are, hence the barrier.
void engine_thread(const tril::plan& plan, const tril::run_data& data, int worker, std::atomic<int64_t>* next,
                   std::barrier<>& stage_is_over, std::atomic<bool>& failed) {
  for (int64_t stage = 0; stage < plan.stages(); ++stage) {
    for (int64_t task; (task = next[stage]++) < plan.tasks(stage);)
      if (!plan.run_task(stage, task, worker, data)) failed = true;
    stage_is_over.arrive_and_wait();
  }
}

}  // namespace

int main() {
  const tril::layout q_shape = tril_bthd(TRIL_F32, 2, 200, 8, 64), kv_shape = tril_bthd(TRIL_F32, 2, 200, 4, 64);
  std::vector<float> q(2 * 200 * 8 * 64), k(q.size() / 2), v(k.size()), by_pool(q.size()), by_engine(q.size());
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 17) / 8 - 1;
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = static_cast<float>(i % 13) / 8, v[i] = static_cast<float>(i % 101);

  pool own;
  const tril::context ctx({.threads = threads, .executor = {&own, pool::parallel_for}});
  const tril::plan plan(ctx, {.q = q_shape, .kv = {.k = kv_shape, .v = kv_shape}, .out = q_shape});
  const tril::status st = plan.run({.q = q.data(), .kv = {k.data(), v.data()}, .out = by_pool.data()});
  if (!st) return std::fprintf(stderr, "%s\n", st.message()), 1;

  std::vector<cache_line> workspace(plan.workspace_bytes() / sizeof(cache_line) + 1);
  const tril::run_data data = {.q = q.data(),
                               .kv = {k.data(), v.data()},
                               .out = by_engine.data(),
                               .workspace = workspace.data(),
                               .workspace_bytes = workspace.size() * sizeof(cache_line)};
  std::vector<std::atomic<int64_t>> next(static_cast<std::size_t>(plan.stages()));
  std::barrier<> stage_is_over(threads);
  std::atomic<bool> failed = false;
  {
    std::vector<std::jthread> engine;
    for (int worker = 0; worker < threads; ++worker)
      engine.emplace_back([&, worker] { engine_thread(plan, data, worker, next.data(), stage_is_over, failed); });
  }
  const bool same = !failed && by_pool == by_engine;
  std::printf("%d tasks by a pool of %d threads; %d stages by the engine's own: %s\n", int(own.tasks_run), threads,
              int(plan.stages()), same ? "same bits" : "they differ");
  return same && own.tasks_run > 0 ? 0 : 1;
}
