/// Results among batch neighbours and threads, and calls from the tasks and the small stacks of a host.

#include <pthread.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <climits>
#include <mutex>
#include <thread>

#include "cases/inputs.hpp"
#include "parallel/executor.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"
#include "tril/cost.hpp"
#include "tril/merge.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// The rows of a batch, each sequence computed by a call of its own.
float_rows one_by_one(const context& ctx, const workload& w) {
  const recipe& r = w.made_from();
  const float_tensor out({r.batch, r.rows, r.q_heads, r.value_dim}, {}, canary);
  const float_tensor lse({r.batch, r.rows, r.q_heads, 1}, {}, canary);
  for (std::int64_t sequence = 0; sequence < r.batch; ++sequence) {
    const auto part = [&](const float_tensor& t, std::int64_t tokens) {
      layout l = t.layout();
      l.extents[0] = 1;
      l.extents[1] = tokens;
      return mutable_tensor{&t.at(sequence, 0, 0, 0), l};
    };
    const std::int64_t keys = r.kv_lengths[static_cast<std::size_t>(sequence)];
    require(attention(ctx, part(w.q, r.rows), part(w.k, keys), part(w.v, keys), part(out, r.rows),
                      {.lse = part(lse, r.rows)}));
  }
  return {out.elements(), lse.elements()};
}

/// Whether a call gives the bits of the same call on one thread.
bool same_as_serial(const context& ctx, const context& serial, std::uint32_t seed) {
  const recipe r = {.rows = 64, .keys = 512, .q_heads = 4, .kv_heads = 2, .dim = 8, .value_dim = 8};
  workload expected(r, seed), w(r, seed);
  return expected.run(serial) && w.run(ctx) && compare_bits(results_of(w), results_of(expected)).ok;
}

}  // namespace

TEST_CASE("Bits that depend on the neighbours in a batch, on the number of threads or on the day") {
  lcg random(1);
  recipe decode = {.batch = 32, .rows = 1, .keys = 4096, .q_heads = 4, .kv_heads = 2, .dim = 16, .value_dim = 16};
  recipe prefill = {.batch = 32, .rows = 20, .keys = 600, .q_heads = 2, .kv_heads = 1, .dim = 8, .value_dim = 8};
  for (recipe* r : {&decode, &prefill}) {
    for (std::int64_t i = 0; i < r->batch; ++i)
      r->kv_lengths.push_back(static_cast<std::int32_t>(random.between(1, r->keys)));
    r->kv_lengths.front() = static_cast<std::int32_t>(r->keys);
    r->kv_lengths.back() = 1;
    workload together = random_workload(*r);
    const float_rows expected = one_by_one(context_under_test(1), together);
    for (const int threads : {1, 2, 3, 7, 16}) {
      const context ctx = context_under_test(threads);
      CAPTURE(threads);
      require(compare_bits(one_by_one(ctx, together), expected));
      for (int repetition = 0; repetition < 20; ++repetition) {
        require(together.run(ctx));
        require(compare_bits(results_of(together), expected));
      }
    }
  }
}

TEST_CASE("Scratch of a thread that a task uses while another one of it waits") {
  const context ctx = context_under_test(3), serial = context_under_test(1);
  std::atomic<int> wrong = 0;
  tbb::parallel_for(0, 200, [&](int i) {
    if (!same_as_serial(ctx, serial, static_cast<std::uint32_t>(i))) ++wrong;
  });
  CHECK(wrong == 0);
}

TEST_CASE("A thread that holds the host's lock and takes up a task of the host's that wants it") {
  const context ctx = context_under_test(3), serial = context_under_test(1);
  std::atomic<int> wrong = 0;
  std::mutex mutex;
  tbb::task_group group;
  for (std::uint32_t i = 0; i < 20; ++i)
    group.run([&, i] {
      const std::lock_guard lock(mutex);
      if (!same_as_serial(ctx, serial, i)) ++wrong;
    });
  group.wait();
  CHECK(wrong == 0);

  // Whether it would take one up: it waits for another thread's part of a run, while there always are tasks to take.
  using clock = std::chrono::steady_clock;
  static thread_local bool holds_lock = false;
  std::atomic<bool> done = false, elsewhere = false;
  std::atomic<int> taken_up = 0;
  tbb::task_arena host(3, 2);
  std::thread other([&] {
    host.execute([&] {
      while (!done)
        tbb::parallel_for(
            0, 64, [&](int) { taken_up += holds_lock; }, tbb::simple_partitioner());
    });
  });
  host.execute([&] {
    holds_lock = true;
    CHECK(parallel::make_threads(3)->parallel_for(2, [&](std::int64_t) {
      if (holds_lock) {
        for (const auto end = clock::now() + std::chrono::seconds(10); !elsewhere && clock::now() < end;)
          std::this_thread::yield();
      } else {
        elsewhere = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }));
    holds_lock = false;
  });
  done = true;
  other.join();
  CHECK(elsewhere);
  CHECK(taken_up == 0);
}

// Meson also runs this one alone, so that no call of the process has been made before.
TEST_CASE("First calls that all threads make at once") {
  constexpr std::size_t count = 16;
  std::vector<report> found(count);
  std::vector<std::thread> threads;
  std::barrier all_here(static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      const std::int64_t rows = i % 2 == 0 ? 1 : 40;
      workload w = random_workload({.rows = rows, .keys = 300, .q_heads = 4, .kv_heads = 2, .dim = 20});
      all_here.arrive_and_wait();
      found[i] = verify(context_under_test(static_cast<int>(i % 3) + 1), w);
    });
  for (std::thread& t : threads) t.join();
  for (const report& r : found) require(r);
}

TEST_CASE("Arrays on the stack that grow with the problem") {
  struct calls {
    workload w = random_workload({.rows = 512, .keys = 512, .dim = 1024, .value_dim = 1024});
    float_tensor merged_out = float_tensor({1, 512, 1, 1024}, {}, canary);
    float_tensor merged_lse = float_tensor({1, 512, 1, 1}, {}, canary);
    float_rows of_attention = {}, of_tasks = {};
    bool good = false;

    bool all() {
      const context ctx = context_under_test(2);
      if (!w.run(ctx)) return false;
      of_attention = results_of(w);
      const plan p(ctx, w.problem());
      guarded_memory workspace(p.workspace_bytes(), touching::end, poison);
      run_data data = w.data();
      data.workspace = workspace.data();
      data.workspace_bytes = workspace.size();
      w.out.reset(canary);
      w.lse.reset(canary);
      for (std::int64_t stage = 0; stage < p.stages(); ++stage)
        for (std::int64_t task = 0; task < p.tasks(stage); ++task)
          if (!p.run_task(stage, task, 1, data)) return false;
      of_tasks = results_of(w);
      const void* outs[] = {w.out.data(), w.out.data()};
      const float* lses[] = {w.lse.data(), w.lse.data()};
      return cost_of(w.problem()).status && p.run(data) &&
             merge(ctx, outs, lses, {merged_out.data(), merged_out.layout()}, {merged_lse.data(), merged_lse.layout()});
    }
  } c;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(PTHREAD_STACK_MIN) + (128 << 10)) == 0);
  pthread_t thread;
  const auto body = [](void* self) -> void* {
    auto& own = *static_cast<calls*>(self);
    own.good = own.all();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, body, &c) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  REQUIRE(c.good);
  require(c.w.run(context_under_test(1)));
  require(compare_bits(c.of_attention, results_of(c.w)));
  require(compare_bits(c.of_tasks, results_of(c.w)));
  // Two equal parts merge to what they are.
  require(compare_bits(c.merged_out.elements(), c.of_attention.out, 1024));
}
