/// Every allocation of every call fails once: a status says so, nothing has been written, and nothing leaks.

#include <algorithm>
#include <functional>
#include <new>

#include "robust/allocations.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"
#include "tril/cost.hpp"
#include "tril/merge.hpp"
#include "tril/projection.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// Threads by none, by oneTBB, and by the caller.
std::vector<context_options> all_contexts() {
  const auto in_order = [](void*, std::int64_t count, void (*task)(void*, std::int64_t), void* closure) {
    for (std::int64_t i = 0; i < count; ++i) task(closure, i);
  };
  return {{.threads = 1}, {.threads = 3}, {.threads = 3, .executor = {nullptr, in_order}}};
}

/// Problems that pack, that spread splits, that read K and V as they lie, and that have lengths.
std::vector<recipe> recipes() {
  const recipe prefill = {.batch = 2, .rows = 40, .keys = 300, .q_heads = 4, .kv_heads = 2, .dim = 7, .value_dim = 21};
  recipe decode = prefill, spread = prefill, lengths = prefill;
  decode.rows = 1;
  spread.batch = spread.q_heads = spread.kv_heads = 1;
  spread.rows = 3;
  spread.keys = 5000;
  lengths.q_lengths = {40, 3};
  lengths.kv_lengths = {100, 300};
  lengths.query_offset = {60, 5};
  return {prefill, decode, spread, lengths};
}

/// Calls call() with its first allocation failing, its second, … until there is none left that has not. call() gives
/// back what it made before it returns a status; unwritten() is whether outputs are as they were. How many failures
/// led to an error.
std::int64_t fail_each(const std::function<status()>& call, const std::function<bool()>& unwritten) {
  std::int64_t errors = 0;
  for (std::int64_t i = 0;; ++i) {
    bool failed = false;
    std::int64_t live = 0;
    const status s = [&] {
      const allocation_watch watch(i);
      status made = call();
      failed = watch.asked() > i;
      live = watch.live();
      return made;
    }();
    CAPTURE(i, s.message());
    REQUIRE(live == 0);
    if (!failed) {
      require(s);
      return errors;
    }
    // Scratch that only makes sorting faster may be missing.
    if (s) continue;
    ++errors;
    REQUIRE(s.code() == code::out_of_memory);
    REQUIRE(s.message()[0] != '\0');
    REQUIRE(unwritten());
  }
}

const auto nothing_to_write = [] { return true; };

bool is_unwritten(const workload& w) {
  const auto nowhere = [](std::int64_t, std::int64_t) { return false; };
  return w.out.holds_fill_except(nowhere) && w.lse.holds_fill_except(nowhere);
}

}  // namespace

TEST_CASE("The watch sees each way to allocate, and each can be made to fail") {
  const std::function<void*()> ways[] = {
      [] { return std::malloc(1); },
      [] { return std::calloc(1, 1); },
      [] { return std::realloc(nullptr, 1); },
      [] { return std::aligned_alloc(64, 64); },
      [] { return ::operator new(1, std::nothrow); },
      [] { return ::operator new[](1, std::nothrow); },
      [] { return ::operator new (1, std::align_val_t{64}, std::nothrow); },
  };
  for (const auto& allocate : ways) {
    const auto seen = [&](std::int64_t fail_at) {
      const allocation_watch watch(fail_at);
      void* volatile p = allocate();  // volatile: not to be left out
      const auto outcome = std::array{watch.asked(), watch.live(), std::int64_t{p == nullptr}};
      std::free(p);
      return outcome;
    };
    CHECK(seen(allocation_watch::none) == std::array<std::int64_t, 3>{1, 1, 0});
    CHECK(seen(0) == std::array<std::int64_t, 3>{1, 0, 1});
  }
}

TEST_CASE("A context that finds no memory says so, and leaks none") {
  for (const context_options& options : all_contexts()) {
    CHECK(fail_each([&] { return context(options).status(); }, nothing_to_write) > 0);
    const auto by_c = [&] {
      tril_context_args args = TRIL_CONTEXT_ARGS_INIT;
      args.threads = options.threads;
      args.executor = options.executor;
      tril_context* made = reinterpret_cast<tril_context*>(&args);
      const tril_status s = tril_context_create(&args, &made);
      if (s.code != TRIL_OK && made != nullptr) return status(code::invalid_argument, "*context is not null");
      tril_context_destroy(made);
      return status(s);
    };
    CHECK(fail_each(by_c, nothing_to_write) > 0);
  }
  CHECK(fail_each([] { return context().status(); }, nothing_to_write) > 0);
}

TEST_CASE("A plan that finds no memory says so, and leaks none") {
  for (const context_options& options : all_contexts()) {
    const context ctx(options);
    for (const recipe& r : recipes()) {
      const workload w(r, seed());
      CHECK(fail_each([&] { return plan(ctx, w.problem()).status(); }, nothing_to_write) > 1);
      CHECK(fail_each([&] { return cost_of(w.problem()).status; }, nothing_to_write) >= 0);
    }
  }
}

TEST_CASE("A call that finds no memory says so, leaks none and has written nothing") {
  for (const context_options& options : all_contexts()) {
    const context ctx(options);
    for (const recipe& r : recipes()) {
      workload w(r, seed());
      require(verify(ctx, w));
      const float_rows expected = results_of(w);
      w.out.reset(canary);
      w.lse.reset(canary);
      const auto at_once = [&] {
        return attention(ctx, {w.q.data(), w.q.layout()}, {w.k.data(), w.k.layout()}, {w.v.data(), w.v.layout()},
                         {w.out.data(), w.out.layout()},
                         {.q_lengths = w.q_lengths.span(),
                          .kv_lengths = w.kv_lengths.span(),
                          .query_offset = w.query_offset.span(),
                          .lse = {w.lse.data(), w.lse.layout()}});
      };
      const auto unwritten = [&] { return is_unwritten(w); };
      const auto clean = [&](const std::function<status()>& call) {
        return [&w, call] {
          w.out.reset(canary);
          w.lse.reset(canary);
          return call();
        };
      };
      CHECK(fail_each(clean(at_once), unwritten) > 2);
      require(compare_bits(results_of(w), expected));

      const plan made(ctx, w.problem());
      CHECK(fail_each(clean([&] { return made.run(w.data()); }), unwritten) == 1);  // the workspace
      require(compare_bits(results_of(w), expected));

      guarded_memory workspace(made.workspace_bytes(), touching::end, poison);
      run_data data = w.data();
      data.workspace = workspace.data();
      data.workspace_bytes = workspace.size();
      CHECK(fail_each(clean([&] { return made.run(data); }), unwritten) == 0);  // with a workspace: nothing at all
      require(compare_bits(results_of(w), expected));
      const allocation_watch watch;
      require(made.run(data));
      CHECK(watch.asked() == 0);
    }
  }
}

TEST_CASE("A projection that finds no memory says so, leaks none and has written nothing") {
  const std::vector<float> weight(40 * 70, 0.5f), x(20 * 40, 2.0f), bias(70, 2.0f);
  for (const context_options& options : all_contexts()) {
    const context ctx(options);
    const linear l = {.in = 40, .out = 70, .weight = weight.data(), .bias = bias.data()};
    CHECK(fail_each([&] { return projection(ctx, l).status(); }, nothing_to_write) == 3);  // itself, weight and bias
    const projection made(ctx, l);
    std::vector<float> y(20 * 70);
    const auto run = [&] { return made.run(bthd(x.data(), 1, 20, 4, 10), bthd(y.data(), 1, 20, 1, 70)); };
    require(run());  // what threads of the library make once
    y.assign(y.size(), 7.0f);
    const auto all = [&y](float value) { return std::ranges::count(y, value) == std::ssize(y); };
    CHECK(fail_each(run, [&] { return all(7.0f); }) == 1);  // the scratch
    CHECK(all(42.0f));
  }
}

TEST_CASE("A merge allocates nothing") {
  for (const context_options& options : all_contexts()) {
    const context ctx(options);
    workload w({.rows = 200, .keys = 30, .q_heads = 2}, seed());
    require(w.run(ctx));
    const float_tensor out({1, 200, 2, 16}, {}, canary), lse({1, 200, 2, 1}, {}, canary);
    const void* outs[] = {w.out.data(), w.out.data()};
    const float* lses[] = {w.lse.data(), w.lse.data()};
    const allocation_watch watch(0);
    const status s = merge(ctx, outs, lses, {out.data(), out.layout()}, {lse.data(), lse.layout()});
    const std::int64_t asked = watch.asked();
    require(s);
    CHECK(asked == 0);
  }
}
