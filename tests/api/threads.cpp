/// What the threads of a process have to do with a call: its stack, its forked children, its own threads.

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <filesystem>

#include "support/require.hpp"
#include "support/verify.hpp"
#include "tril/merge.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// Runs use() in a forked child; whether it returned true, within 20 seconds.
template <class Use>
bool true_in_child(Use use) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(use() ? 0 : 1);
  }
  int outcome = 0;
  waitpid(child, &outcome, 0);
  return WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0;
}

std::ptrdiff_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

std::vector<recipe> recipes() {
  const recipe prefill = {.batch = 2, .rows = 60, .keys = 300, .q_heads = 4, .kv_heads = 2, .dim = 8, .value_dim = 9};
  recipe decode = prefill;
  decode.rows = 2;
  decode.keys = 3000;
  return {prefill, decode};
}

}  // namespace

TEST_CASE("A forked child of a process with threads computes, and so does its parent") {
  for (const int threads : {1, 2, 5})
    for (const recipe& r : recipes()) {
      const context ctx = context_under_test(threads);
      workload w(r, seed());
      require(verify(ctx, w));
      const float_rows expected = results_of(w);
      const auto same_again = [&](const context& with) {
        return w.run(with) && compare_bits(results_of(w), expected).ok;
      };
      CHECK(true_in_child([&] { return same_again(ctx); }));
      CHECK(true_in_child([&] { return same_again(context_under_test(threads)); }));
      CHECK(same_again(ctx));
    }
}

TEST_CASE("One thread is one thread") {
  for (const recipe& r : recipes()) {
    workload w(r, seed());
    CHECK(true_in_child([&] {
      const std::ptrdiff_t before = threads_of_process();  // one, and a sanitizer's
      const context ctx = context_under_test(1);
      return threads_of_process() == before && w.run(ctx) && threads_of_process() == before;
    }));
  }
}

TEST_CASE("A stack of 128 KiB is enough") {
  struct call {
    const context ctx = context_under_test();
    workload prefill = workload({.rows = 70, .keys = 300, .q_heads = 2, .dim = 1024, .value_dim = 1024}, seed());
    workload decode = workload({.rows = 2, .keys = 600, .q_heads = 2, .dim = 1024, .value_dim = 1024}, seed());
    float_tensor merged_out = float_tensor({1, 2, 2, 1024}, {}, canary);
    float_tensor merged_lse = float_tensor({1, 2, 2, 1}, {}, canary);
    bool good = false;

    void run() {
      good = prefill.run(ctx) && decode.run(ctx);
      const void* outs[] = {decode.out.data(), decode.out.data()};
      const float* lses[] = {decode.lse.data(), decode.lse.data()};
      good = good &&
             merge(ctx, outs, lses, {merged_out.data(), merged_out.layout()}, {merged_lse.data(), merged_lse.layout()});
    }
  } c;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(PTHREAD_STACK_MIN) + (128 << 10)) == 0);
  pthread_t thread;
  const auto body = [](void* self) -> void* {
    static_cast<call*>(self)->run();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, body, &c) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  CHECK(c.good);
}
