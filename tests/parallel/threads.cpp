/// The library's own threads among those of a host: forks, task arenas, limits, small stacks.

#include <pthread.h>
#include <sys/wait.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "parallel/executor.hpp"
#include "support/require.hpp"
#include "support/sanitized.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

recipe medium() { return {.rows = 70, .keys = 600, .q_heads = 4, .kv_heads = 2, .dim = 20, .value_dim = 24}; }

/// One call on data of its own; whether it gave the canonical bits.
bool right(const context& ctx, std::uint32_t seed) {
  workload w(medium(), seed);
  return w.run(ctx) && verify(ctx, w).ok;
}

std::size_t threads_of_process() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Exit status of body() in a forked child; -1 if it is not done within `seconds`.
template <class Body>
int in_child(Body body, int seconds = 20) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(static_cast<unsigned>(seconds));  // a child that hangs is killed
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("One thread means no thread is made") {
  const std::size_t before = threads_of_process();
  const context ctx = context_under_test(1);
  CHECK(right(ctx, 1));
  CHECK(threads_of_process() == before);
}

TEST_CASE("A forked child computes, with contexts from before and after the fork") {
  const context one = context_under_test(1), many = context_under_test(3);
  CHECK(in_child([&] { return right(one, 1) && right(many, 2); }) == 0);  // before the first use
  CHECK(right(many, 3));                                                  // now the threads are there
  CHECK(in_child([&] { return right(one, 4) && right(many, 5); }) == 0);
  std::thread([&] { CHECK(in_child([&] { return right(many, 6); }) == 0); }).join();
  CHECK(right(many, 7));
}

TEST_CASE("A child forked in the midst of other threads' calls computes, with a context of its own") {
  if constexpr (sanitized) return;  // the child would wait for a sanitizer's lock that no thread holds
  const context ctx = context_under_test(3);
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0}, calls{0};
  std::vector<std::thread> callers;
  for (std::uint32_t i = 0; i < 2; ++i)
    callers.emplace_back([&, i] {
      for (std::uint32_t call = 0; !done; ++call, ++calls)
        if (!right(ctx, 1000 * i + call)) ++wrong;
    });
  for (std::uint32_t i = 0; i < 10; ++i) {
    for (const int before = calls; calls == before;) std::this_thread::yield();
    CHECK(in_child([&] { return right(context_under_test(3), i) && right(context_under_test(1), i); }) == 0);
    CHECK(in_child([&] { return right(ctx, i); }) == 0);
  }
  done = true;
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("Calls from the tasks of a host's oneTBB give the same bits, and no foreign task comes in between") {
  const context ctx = context_under_test(3);
  std::atomic<int> wrong{0};
  thread_local int depth = 0;
  tbb::parallel_for(0, 60, [&](int i) {
    // A waiting thread that took up another of the host's tasks would come here again.
    if (++depth != 1) ++wrong;
    if (!right(ctx, static_cast<std::uint32_t>(i))) ++wrong;
    --depth;
  });
  CHECK(wrong == 0);
}

TEST_CASE("A host's lock may be held across a call") {
  const context ctx = context_under_test(2);
  std::mutex mutex;
  std::atomic<int> wrong{0};
  tbb::parallel_for(0, 20, [&](int i) {
    const std::lock_guard lock(mutex);
    if (!right(ctx, static_cast<std::uint32_t>(i))) ++wrong;
  });
  CHECK(wrong == 0);
}

TEST_CASE("A run stays within a host's limits and changes none") {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
  const std::size_t before = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  const auto executor = parallel::make_threads(8);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  const auto note = [&](std::int64_t) {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  };
  REQUIRE(executor->parallel_for(1000, note));
  CHECK(seen.size() <= 2);
  seen.clear();
  tbb::task_arena host(1);
  host.execute([&] { REQUIRE(executor->parallel_for(1000, note)); });
  CHECK(seen.size() == 1);
  CHECK(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism) == before);
}

TEST_CASE("Every index runs exactly once, the first ones first") {
  for (const int threads : {1, 2, 5}) {
    const auto executor = threads == 1 ? parallel::make_serial() : parallel::make_threads(threads);
    for (const std::int64_t count : {1, 2, 3, 1000}) {
      std::vector<std::atomic<int>> ran(static_cast<std::size_t>(count));
      REQUIRE(executor->parallel_for(count, [&](std::int64_t i) { ++ran[static_cast<std::size_t>(i)]; }));
      CHECK(std::ranges::all_of(ran, [](const auto& times) { return times == 1; }));
    }
  }
}

TEST_CASE("A thread with a small stack can make every call") {
  struct job {
    const context& ctx;
    workload& w;
    bool good = false;
  };
  // Large dims, prefill and decode: whatever grows with them must not lie on the stack.
  for (const std::int64_t rows : {1, 40}) {
    const context ctx = context_under_test(1);
    workload w({.rows = rows, .keys = 300, .q_heads = 2, .kv_heads = 1, .dim = 1024, .value_dim = 1024}, 11);
    job j{ctx, w};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    REQUIRE(pthread_attr_setstacksize(&attributes, 128 * 1024) == 0);
    pthread_t thread;
    const auto body = [](void* self) -> void* {
      job& own = *static_cast<job*>(self);
      const plan p(own.ctx, own.w.problem());
      own.good = p && p.run(own.w.data());
      return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, body, &j) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    CHECK(j.good);
    require(verify(ctx, w));
  }
}
