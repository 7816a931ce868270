/// Heads too large to be packed whole: their keys go through in rounds, the states of the rows kept between them.

#include <cstring>
#include <random>
#include <vector>

#include "api/validate.hpp"
#include "memory/aligned.hpp"
#include "reference/canonical.hpp"
#include "run/work.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

planning::problem planned(const workload& w) {
  planning::problem p;
  require(detail::with_c_args(
      w.problem(), [&](const tril_attention_args& args) { return tril::status(api::check_args(&args, p)); }));
  return p;
}

/// Prefill with a cap of its own; of each stage the last task first, in dirty memory.
void prefill_within(std::int64_t cap, const context& ctx, workload& w) {
  const std::unique_ptr<run::work> work = run::make_prefill(planned(w), kernels_of(ctx), 1, cap);
  const aligned_bytes workspace = allocate_aligned(work->workspace_bytes());
  std::memset(workspace.get(), 0xFF, work->workspace_bytes());  // NaN
  const run_data data = w.data();
  const run::pointers at = {.q = static_cast<const std::byte*>(data.q),
                            .k = static_cast<const std::byte*>(data.kv.k),
                            .v = static_cast<const std::byte*>(data.kv.v),
                            .out = static_cast<std::byte*>(data.out),
                            .lse = data.lse,
                            .workspace = workspace.get()};
  for (std::int64_t stage = 0; stage < work->stages(); ++stage)
    for (std::int64_t task = work->tasks(stage); task-- > 0;) work->run_task(stage, task, 0, at);
}

const recipe recipes[] = {
    {.rows = 150, .keys = 900, .q_heads = 6, .kv_heads = 2, .dim = 20, .value_dim = 33},
    {.rows = 300, .keys = 1100, .q_heads = 2, .kv_heads = 2, .dim = 8, .value_dim = 16, .window = {.left = 200}},
    {.batch = 3,
     .rows = 90,
     .keys = 700,
     .q_heads = 3,
     .causal = false,
     .q_lengths = {90, 40, 1},
     .kv_lengths = {513, 700, 0}},
    {.rows = 40, .keys = 600, .q_heads = 130, .dim = 4, .value_dim = 4, .query_offset = {500}},
    {.rows = 70, .keys = 800, .q = values::spikes, .v = values::inf},
    {.rows = 70, .keys = 800, .k = values::nan, .v = values::nan},
    {.rows = 70, .keys = 800, .k = values::inf, .v = values::alternating},
};

}  // namespace

TEST_CASE("Rounds of keys and bands of rows have the bits of a problem that is packed whole") {
  const context ctx = context_under_test();
  for (const recipe& r : recipes)
    for (const std::int64_t cap : {std::int64_t{1}, std::int64_t{100'000}, std::int64_t{400'000}}) {
      workload w(r, seed());
      INFO("within " << cap << " bytes: " << w.text());
      require(w.run(ctx));
      const float_rows expected = results_of(w);
      w.out.reset(canary);
      w.lse.reset(canary);
      prefill_within(cap, ctx, w);
      require(compare_bits(results_of(w), expected));
    }
}

TEST_CASE("A head too large to be packed whole stays within the cap, and has the canonical bits") {
  const context ctx = context_under_test(2);
  // Neighbouring keys overlap in memory, so that many large ones need little of it.
  constexpr std::int64_t rows = 37, keys = 16500, dim = 1024, value_dim = 20;
  std::mt19937 random(seed());
  std::normal_distribution<float> normal(0.0f, 0.3f);
  const auto filled = [&](std::int64_t count) {
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& value : x) value = normal(random);
    return x;
  };
  const std::vector<float> q = filled(rows * dim), k = filled(keys + dim), v = filled(keys + value_dim);
  std::vector<float> out(rows * value_dim);
  tensor k_view = bthd(k.data(), 1, keys, 1, dim), v_view = bthd(v.data(), 1, keys, 1, value_dim);
  k_view.layout.strides[1] = v_view.layout.strides[1] = 1;
  const problem p = {.q = bthd(q.data(), 1, rows, 1, dim).layout,
                     .kv = {.k = k_view.layout, .v = v_view.layout},
                     .out = bthd(out.data(), 1, rows, 1, value_dim).layout};
  const plan whole(ctx, p);
  CHECK(whole.stages() > 2);  // more than one round
  CHECK(whole.workspace_bytes() < (std::size_t{64} << 20) + 2 * (std::size_t{2} << 20));
  const run_data data = {.q = q.data(), .kv = {k.data(), v.data()}, .out = out.data()};
  require(whole.run(data));
  for (const std::int64_t row : {std::int64_t{0}, rows / 2, rows - 1}) {
    const auto expected = reference::canonical(kernels_of(ctx).fused, reference::row_of(p, data, 0, row, 0));
    CAPTURE(row);
    CHECK(std::memcmp(expected.out.data(), out.data() + row * value_dim, value_dim * sizeof(float)) == 0);
  }
}

TEST_CASE("More keys than any memory holds are planned at once, in no more workspace") {
  const context ctx = context_under_test(2);
  constexpr std::int64_t keys = std::int64_t{1} << 50;  // all at one address
  problem p = {.q = tril_bthd(TRIL_F32, 1, 40, 2, 8),
               .kv = {.k = tril_bthd(TRIL_F32, 1, keys, 2, 8), .v = tril_bthd(TRIL_F32, 1, keys, 2, 4)},
               .out = tril_bthd(TRIL_F32, 1, 40, 2, 4)};
  p.kv.k.strides[1] = p.kv.v.strides[1] = 0;
  const plan made(ctx, p);
  require(made.status());
  CHECK(made.workspace_bytes() < (std::size_t{64} << 20) + 2 * (std::size_t{2} << 20));
}
