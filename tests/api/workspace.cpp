/// The memory a run takes: exactly what it says, whatever is in it, and no other.

#include <atomic>
#include <cstdlib>
#include <new>

#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

std::atomic<std::int64_t> allocations = 0;
std::atomic<std::int64_t> fail_at = -1;  // the allocation, counted from `allocations` being 0, that fails

bool may_allocate() { return allocations++ != fail_at; }

/// Problems that pack, that spread splits, and that do neither.
std::vector<recipe> recipes() {
  const recipe prefill = {.batch = 2, .rows = 40, .keys = 300, .q_heads = 4, .kv_heads = 2, .dim = 7, .value_dim = 21};
  recipe decode = prefill, spread = prefill;
  decode.rows = 1;
  spread.batch = spread.q_heads = spread.kv_heads = 1;
  spread.rows = 3;
  spread.keys = 5000;
  return {prefill, decode, spread};
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* p = may_allocate() ? std::malloc(bytes ? bytes : 1) : nullptr;
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

// The linker sends the library's calls here; see meson.build.
extern "C" void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
extern "C" void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes);
extern "C" void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return may_allocate() ? __real_aligned_alloc(alignment, bytes) : nullptr;
}

TEST_CASE("A run uses the bytes of its workspace, none before and none behind, whatever they hold") {
  for (const int threads : {1, 2, 7})
    for (const recipe& r : recipes()) {
      const context ctx = context_under_test(threads);
      workload w(r, seed());
      require(verify(ctx, w));
      const float_rows expected = results_of(w);
      const plan made(ctx, w.problem());
      REQUIRE(made.workspace_bytes() > 0);
      REQUIRE(made.workspace_bytes() % 64 == 0);
      for (const touching where : {touching::end, touching::start})
        for (const std::uint32_t fill : {poison, 0u, 0x7F800000u}) {
          guarded_memory workspace(made.workspace_bytes(), where, fill);
          run_data data = w.data();
          data.workspace = workspace.data();
          data.workspace_bytes = workspace.size();
          w.out.reset(canary);
          w.lse.reset(canary);
          require(made.run(data));
          require(compare_bits(results_of(w), expected));
          const auto* first = reinterpret_cast<const std::uint32_t*>(workspace.data());
          const auto* last = first + workspace.size() / sizeof *first;
          for (const std::uint32_t& word : workspace.reachable_words())
            if (&word < first || &word >= last) REQUIRE(word == fill);
        }
    }
}

TEST_CASE("A run with a workspace allocates nothing") {
  const context ctx = context_under_test();
  for (const recipe& r : recipes()) {
    workload w(r, seed());
    const plan made(ctx, w.problem());
    guarded_memory workspace(made.workspace_bytes(), touching::end, poison);
    const auto allocations_of = [&](const run_data& data) {
      allocations = 0;
      const status s = made.run(data);
      const std::int64_t counted = allocations;
      require(s);
      return counted;
    };
    run_data data = w.data();
    CHECK(allocations_of(data) == 1);  // the workspace, which shows that allocations are seen
    data.workspace = workspace.data();
    data.workspace_bytes = workspace.size();
    CHECK(allocations_of(data) == 0);
  }
}

TEST_CASE("Where memory runs out, the call says so and has written nothing") {
  const context ctx = context_under_test();
  for (const recipe& r : recipes()) {
    workload w(r, seed());
    require(verify(ctx, w));
    const float_rows expected = results_of(w);
    std::int64_t failures = 0;
    for (std::int64_t i = 0;; ++i) {
      w.out.reset(canary);
      w.lse.reset(canary);
      const attention_options options = {.lse = {w.lse.data(), w.lse.layout()}};
      allocations = 0;
      fail_at = i;
      const status s = attention(ctx, {w.q.data(), w.q.layout()}, {w.k.data(), w.k.layout()},
                                 {w.v.data(), w.v.layout()}, {w.out.data(), w.out.layout()}, options);
      const bool failed = allocations > i;
      fail_at = -1;
      if (!failed) {
        require(s);
        break;
      }
      // Scratch that only makes sorting faster may be missing.
      if (s) continue;
      ++failures;
      CAPTURE(i, s.message());
      REQUIRE(s.code() == code::out_of_memory);
      const auto nowhere = [](std::int64_t, std::int64_t) { return false; };
      REQUIRE(w.out.holds_fill_except(nowhere));
      REQUIRE(w.lse.holds_fill_except(nowhere));
    }
    CHECK(failures > 3);
    require(compare_bits(results_of(w), expected));
  }
}

TEST_CASE("A context that finds no memory says so") {
  for (std::int64_t i = 0;; ++i) {
    allocations = 0;
    fail_at = i;
    tril_context* made = nullptr;
    tril_context_args args = TRIL_CONTEXT_ARGS_INIT;
    args.threads = 1;
    const tril_status s = tril_context_create(&args, &made);
    const bool failed = allocations > i;
    fail_at = -1;
    tril_context_destroy(made);
    if (!failed) {
      CHECK(s.code == TRIL_OK);
      CHECK(i > 0);
      break;
    }
    CHECK(s.code == TRIL_OUT_OF_MEMORY);
    CHECK(made == nullptr);
  }
}
