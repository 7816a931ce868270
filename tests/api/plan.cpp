/// Plans: one check, many runs, on whatever threads.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "support/require.hpp"
#include "support/verify.hpp"
#include "tril/merge.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// Problems whose runs have several tasks, of many rows and of few, and one that has none.
std::vector<recipe> recipes() {
  const recipe prefill = {.batch = 3,
                          .rows = 50,
                          .keys = 300,
                          .q_heads = 4,
                          .kv_heads = 2,
                          .dim = 8,
                          .value_dim = 21,
                          .window = {.left = 100},
                          .q_lengths = {50, 0, 20}};
  recipe decode = prefill, empty = prefill;
  decode.rows = 2;
  decode.keys = 3000;
  decode.window = {};
  decode.q_lengths = {1, 2, 2};
  empty.q_lengths = {0, 0, 0};
  return {prefill, decode, empty};
}

}  // namespace

TEST_CASE("A plan needs nothing of what it was made from") {
  const context ctx = context_under_test();
  for (const recipe& r : recipes()) {
    workload w(r, seed());
    require(verify(ctx, w));
    const float_rows expected = results_of(w);
    std::vector<std::int32_t> lengths = r.q_lengths;
    std::optional<context> gone(context_under_test());
    problem p = w.problem();
    p.visibility.q_lengths = lengths;
    const plan made(*gone, p);
    require(made.status());
    gone.reset();
    std::ranges::fill(lengths, -1);
    p = {};
    w.out.reset(canary);
    w.lse.reset(canary);
    require(made.run(w.data()));
    if (!expected.lse.empty()) require(compare_bits(results_of(w), expected));
  }
}

TEST_CASE("Tasks run by hand, in any order within a stage, give the same bits") {
  for (const int threads : {1, 3})
    for (const recipe& r : recipes()) {
      const context ctx = context_under_test(threads);
      workload w(r, seed());
      require(verify(ctx, w));
      const float_rows expected = results_of(w);
      const plan made(ctx, w.problem());
      require(made.status());
      guarded_memory workspace(made.workspace_bytes(), touching::end, poison);
      run_data data = w.data();
      data.workspace = workspace.data();
      data.workspace_bytes = workspace.size();
      w.out.reset(canary);
      w.lse.reset(canary);
      std::int64_t tasks = 0;
      for (std::int64_t stage = 0; stage < made.stages(); ++stage)
        for (std::int64_t task = made.tasks(stage) - 1; task >= 0; --task, ++tasks)
          require(made.run_task(stage, task, static_cast<int>(task % threads), data));
      CHECK(made.tasks(-1) == 0);
      CHECK(made.tasks(made.stages()) == 0);
      CHECK((tasks > 0) == !expected.lse.empty());
      if (!expected.lse.empty()) require(compare_bits(results_of(w), expected));
    }
}

TEST_CASE("One plan runs from several threads at once, each with its own outputs and workspace") {
  const context ctx = context_under_test(2);
  for (const recipe& r : recipes()) {
    workload first(r, seed());
    require(verify(ctx, first));
    const plan made(ctx, first.problem());
    require(made.status());
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        workload own(r, derived_seed(seed(), i));
        guarded_memory workspace(made.workspace_bytes(), touching::end, poison);
        run_data data = own.data();
        if (i % 2 == 0) {
          data.workspace = workspace.data();
          data.workspace_bytes = workspace.size();
        }
        const float_rows expected = canonical_of(own, kernels_of(ctx).fused);
        for (int repetition = 0; repetition < 5; ++repetition) {
          own.out.reset(canary);
          if (!made.run(data)) ++wrong;
          if (!expected.lse.empty() && !compare_bits(results_of(own), expected).ok) ++wrong;
        }
      });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("A plan tells which kernel will run, without running it") {
  const context ctx = context_under_test();
  const auto kernel = [&](std::int64_t rows) {
    const workload w({.rows = rows, .keys = 64, .q_heads = 2, .kv_heads = 2}, seed());
    return std::string(plan(ctx, w.problem()).kernel());
  };
  CHECK(kernel(1) == std::string(ctx.isa()) + "/attend_views_f32_f32");
  CHECK(kernel(64) == std::string(ctx.isa()) + "/attend_split_f32_f32");
  CHECK(std::string_view(tril_plan_kernel(nullptr)).empty());
}

TEST_CASE("A context that could not be made gives its status to every call") {
  const context ctx({.isa = "nonsense"});
  CHECK_FALSE(ctx);
  CHECK(std::string_view(ctx.isa()).empty());
  CHECK(ctx.threads() == 0);
  workload w(recipes()[0], seed());
  const plan made(ctx, w.problem());
  CHECK(made.workspace_bytes() == 0);
  CHECK(made.stages() == 0);
  CHECK(std::string_view(made.kernel()).empty());
  CHECK(made.tasks(0) == 0);
  const status statuses[] = {ctx.status(),
                             w.run(ctx),
                             made.status(),
                             made.run(w.data()),
                             made.run_task(0, 0, 0, w.data()),
                             merge(ctx, {}, {}, {w.out.data(), w.out.layout()}, {w.lse.data(), w.lse.layout()})};
  for (const status& s : statuses) {
    CHECK(s.code() == code::invalid_argument);
    CHECK(std::string_view(s.message()).starts_with("isa: 'nonsense'"));
  }
  CHECK(w.out.holds_fill_except([](std::int64_t, std::int64_t) { return false; }));
}
