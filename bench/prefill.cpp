/// Prefill through the public interface, as a share of this machine's multiply-add peak.

#include <memory>
#include <vector>

#include "memory/aligned.hpp"
#include "reference/naive.hpp"
#include "support/case.hpp"
#include "support/computed.hpp"

namespace tril::bench {
namespace {

/// One layer's prefill of a model: tensors, and the plan on them.
struct prefill_case {
  prefill_case(const setting& s)
      : ctx({.isa = s.isa.c_str(), .threads = s.threads}),
        q(normal_values(size(s.tokens * s.model.q_heads * s.model.dim), 1)),
        k(normal_values(size(s.tokens * s.model.kv_heads * s.model.dim), 2)),
        v(normal_values(size(s.tokens * s.model.kv_heads * s.model.value_dim), 3)),
        out(size(s.tokens * s.model.q_heads * s.model.value_dim)),
        shape{.q = bthd(q.data(), 1, s.tokens, s.model.q_heads, s.model.dim).layout,
              .kv = {.k = bthd(k.data(), 1, s.tokens, s.model.kv_heads, s.model.dim).layout,
                     .v = bthd(v.data(), 1, s.tokens, s.model.kv_heads, s.model.value_dim).layout},
              .out = bthd(out.data(), 1, s.tokens, s.model.q_heads, s.model.value_dim).layout,
              .visibility = {.causal = s.model.causal, .window = {.left = s.model.window_left}}},
        plan(ctx, shape),
        workspace(allocate_aligned(plan.workspace_bytes())),
        data{.q = q.data(),
             .kv = {k.data(), v.data()},
             .out = out.data(),
             .workspace = workspace.get(),
             .workspace_bytes = plan.workspace_bytes()} {}

  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

  /// Seconds of one run; negative if it failed.
  double run() const {
    const double begin = now();
    const tril::status status = plan.run(data);
    return status ? now() - begin : -1;
  }

  /// Flops per second of the textbook loop that stops at the diagonal, over rows spread through the sequence.
  double naive_rate() const {
    constexpr std::int64_t rows = 16;
    const std::int64_t tokens = shape.q.extents[1];
    std::vector<float> scores(size(tokens)), row_out(size(shape.out.extents[3]));
    double pairs = 0, seconds = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      const reference::row r = reference::row_of(shape, data, 0, (2 * i + 1) * tokens / (2 * rows), 0);
      const double begin = now();
      reference::plain::naive_truncated(r, scores.data(), row_out.data());
      seconds += now() - begin;
      for (const auto& seen : r.visible) pairs += static_cast<double>(seen.last - seen.first);
    }
    return 2 * static_cast<double>(shape.q.extents[3] + shape.out.extents[3]) * pairs / seconds;
  }

  context ctx;
  std::vector<float> q, k, v, out;
  problem shape;
  tril::plan plan;
  aligned_bytes workspace;
  run_data data;
};

void prefill(benchmark::State& state, const setting& s) {
  const prefill_case c(s);
  const limits machine(kernels_of(s.isa), s.threads);
  const auto flops = static_cast<double>(cost_of(c.shape).flops);
  if (c.run() < 0) return state.SkipWithError("the call failed");
  std::vector<double> rates, shares;
  for (auto _ : state) {
    const double before = machine.flops();
    const double seconds = c.run();
    const double peak = (before + machine.flops()) / 2;
    state.SetIterationTime(seconds);
    rates.push_back(flops / seconds);
    shares.push_back(flops / seconds / peak);
  }
  state.counters["GFLOP/s"] = median(rates) * 1e-9;
  state.counters["of_peak"] = median(shares);
  state.counters["speedup_vs_naive"] = median(rates) / c.naive_rate();
  (void)detail::with_c_args(c.shape, [&](const tril_attention_args& args) {
    state.counters["computed_over_visible"] = computed_over_visible(args, kernels_of(s.isa));
    return tril::status();
  });
  state.counters["workspace_MiB"] = static_cast<double>(c.plan.workspace_bytes()) / 1048576.0;
}

}  // namespace
}  // namespace tril::bench

int main(int argc, char** argv) {
  using namespace tril::bench;
  for_each_setting({128, 512, 1024, 2048, 4096, 8192, 16384}, [](const setting& s) {
    add(s.name("prefill"), s.tokens <= 2048 ? 15 : 7, [s](benchmark::State& state) {
      prefill(state, s);
    })->Unit(benchmark::kMillisecond);
  });
  return run_benchmarks(argc, argv, "prefill/f32/qwen3-0.6b/(512|2048)/");
}
