/// Threads of the caller's.

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

using task_function = void (*)(void* closure, std::int64_t i);
using parallel_for = void (*)(void* self, std::int64_t count, task_function task, void* closure);

/// One thread, last task first.
void backwards(void*, std::int64_t count, task_function task, void* closure) {
  for (std::int64_t i = count - 1; i >= 0; --i) task(closure, i);
}

/// Five threads, more than any context below is told of, that take tasks as they come.
void on_five_threads(void*, std::int64_t count, task_function task, void* closure) {
  std::atomic<std::int64_t> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i)
    threads.emplace_back([&] {
      for (std::int64_t task_index; (task_index = next++) < count;) task(closure, task_index);
    });
  for (std::thread& t : threads) t.join();
}

/// Problems of more than one task, of many rows and of few.
std::vector<recipe> recipes() {
  const recipe prefill = {.batch = 2, .rows = 60, .keys = 300, .q_heads = 4, .kv_heads = 2, .dim = 8, .value_dim = 9};
  recipe decode = prefill;
  decode.rows = 2;
  decode.keys = 3000;
  return {prefill, decode};
}

}  // namespace

TEST_CASE("The caller's executor gives the bits of the library's own threads") {
  for (const recipe& r : recipes()) {
    workload w(r, seed());
    require(verify(context_under_test(), w));
    const float_rows expected = results_of(w);
    for (const parallel_for run : {backwards, on_five_threads})
      for (const int threads : {1, 2, 3}) {
        const context ctx = context_under_test(threads, {nullptr, run});
        CHECK(ctx.threads() == threads);
        require(w.run(ctx));
        require(compare_bits(results_of(w), expected));
      }
  }
}

TEST_CASE("An executor is given its own self") {
  struct counted {
    int calls = 0;
    static void run(void* self, std::int64_t count, task_function task, void* closure) {
      ++static_cast<counted*>(self)->calls;
      backwards(nullptr, count, task, closure);
    }
  } self;
  workload w(recipes()[0], seed());
  require(verify(context_under_test(2, {&self, counted::run}), w));
  CHECK(self.calls > 0);
}

TEST_CASE("An executor that does not run every task exactly once is reported") {
  const struct {
    const char* what;
    parallel_for run;
  } cases[] = {
      {"runs nothing", [](void*, std::int64_t, task_function, void*) {}},
      {"skips the first",
       [](void*, std::int64_t count, task_function task, void* closure) {
         for (std::int64_t i = 1; i < count; ++i) task(closure, i);
       }},
      {"skips the last",
       [](void*, std::int64_t count, task_function task, void* closure) {
         for (std::int64_t i = 0; i + 1 < count; ++i) task(closure, i);
       }},
      {"repeats the first",
       [](void*, std::int64_t count, task_function task, void* closure) {
         task(closure, 0);
         for (std::int64_t i = 0; i < count; ++i) task(closure, i);
       }},
      {"runs one instead of another",
       [](void*, std::int64_t count, task_function task, void* closure) {
         for (std::int64_t i = 0; i < count; ++i) task(closure, i == 0 ? count - 1 : i);
       }},
      {"goes beyond the last",
       [](void*, std::int64_t count, task_function task, void* closure) {
         for (std::int64_t i = 0; i <= count; ++i) task(closure, i);
       }},
      {"starts below zero",
       [](void*, std::int64_t count, task_function task, void* closure) {
         for (std::int64_t i = -1; i < count - 1; ++i) task(closure, i);
       }},
      {"throws", [](void*, std::int64_t, task_function, void*) { throw std::runtime_error("no threads"); }},
  };
  for (const recipe& r : recipes())
    for (const auto& c : cases) {
      workload w(r, seed());
      const status s = w.run(context_under_test(2, {nullptr, c.run}));
      INFO(c.what << ": " << s.message());
      CHECK(s.code() == code::executor_failed);
      CHECK(std::string_view(s.message()).starts_with("executor"));
    }
}

TEST_CASE("An executor is reported even where its faults have the same sum as a complete run") {
  const parallel_for middle_for_neighbours = [](void*, std::int64_t count, task_function task, void* closure) {
    for (std::int64_t i = 0; i < count; ++i) task(closure, i == 0 || i == 2 ? 1 : i);
  };
  for (const recipe& r : recipes()) {
    workload w(r, seed());
    const status s = w.run(context_under_test(2, {nullptr, middle_for_neighbours}));
    CAPTURE(s.message());
    CHECK(s.code() == code::executor_failed);
  }
}

TEST_CASE("Calls from several threads share a context") {
  const recipe r = recipes()[0];
  workload w(r, seed());
  require(verify(context_under_test(), w));
  const float_rows expected = results_of(w);
  const context shared = context_under_test(2);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      workload own(r, seed());
      for (int repetition = 0; repetition < 5; ++repetition)
        if (!own.run(shared) || !compare_bits(results_of(own), expected).ok) ++wrong;
    });
  for (std::thread& t : callers) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("A call may be made from inside the caller's executor") {
  // Every task of the outer run makes a run of its own, on the threads of the library.
  struct nested {
    context inner = context_under_test(2);
    workload w = workload(recipes()[0], seed());
    float_rows expected = {};
    int wrong = 0;
    static void run(void* self, std::int64_t count, task_function task, void* closure) {
      auto& n = *static_cast<nested*>(self);
      for (std::int64_t i = 0; i < count; ++i) {
        task(closure, i);
        if (!n.w.run(n.inner) || !compare_bits(results_of(n.w), n.expected).ok) ++n.wrong;
      }
    }
  } self;
  require(self.w.run(self.inner));
  self.expected = results_of(self.w);
  workload outer(recipes()[1], seed());
  require(verify(context_under_test(2, {&self, nested::run}), outer));
  CHECK(self.wrong == 0);
}
