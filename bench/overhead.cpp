/// What a call costs beside its arithmetic: the smallest ones, whole and in parts.
///
///   overhead       attention(): checks, plan, run
///   overhead_plan  making a plan
///   overhead_run   running it, with a workspace at hand

#include <algorithm>
#include <vector>

#include "support/attention_case.hpp"

namespace tril::bench {
namespace {

constexpr int samples = 31;

/// Times `call`, repeated for as long as the clock needs to be sure, beside the textbook loop on the same rows.
template <class Call>
void measure(benchmark::State& state, const attention_case& c, Call call) {
  const double start = now();
  if (!call()) return state.SkipWithError("the call failed");
  const int calls = std::clamp(static_cast<int>(500e-6 / (now() - start)), 1, 200);
  std::vector<double> times, speedups;
  for (auto _ : state) {
    const double naive_seconds = c.flops() / c.naive_rate();
    const double begin = now();
    for (int i = 0; i < calls; ++i) (void)call();
    times.push_back((now() - begin) / calls);
    state.SetIterationTime(times.back());
    speedups.push_back(naive_seconds / times.back());
  }
  state.counters["speedup_vs_naive"] = median(speedups);
}

bool attend(const attention_case& c) {
  const problem& p = c.shape();
  const run_data& d = c.data();
  return static_cast<bool>(attention(c.ctx(), {d.q, p.q}, {d.kv.k, p.kv.k}, {d.kv.v, p.kv.v}, {d.out, p.out},
                                     {.causal = p.visibility.causal,
                                      .window = p.visibility.window,
                                      .scale = p.scale,
                                      .workspace = d.workspace,
                                      .workspace_bytes = d.workspace_bytes}));
}

void add_overhead(const setting& s) {
  const auto add_part = [&](const char* phase, bool (*part)(const attention_case&)) {
    add(s.name(phase), samples, [s, part](benchmark::State& state) {
      const attention_case c(s);
      measure(state, c, [&] { return part(c); });
    })->Unit(benchmark::kMicrosecond);
  };
  add_part("overhead", attend);
  add_part("overhead_plan",
           [](const attention_case& c) { return static_cast<bool>(plan(c.ctx(), c.shape()).status()); });
  add_part("overhead_run", [](const attention_case& c) { return c.run() >= 0; });
}

}  // namespace
}  // namespace tril::bench

int main(int argc, char** argv) {
  using namespace tril::bench;
  // The smallest there is: one head of 8.
  const shape smallest = {.name = "one-head",
                          .model = {.name = "", .q_heads = 1, .kv_heads = 1, .dim = 8, .value_dim = 8}};
  std::vector<shape> shapes = preset_shapes();
  shapes.insert(shapes.begin(), smallest);
  for_each_setting(shapes, {1, 16, 64}, add_overhead);
  return run_benchmarks(argc, argv, "overhead.*/f32/(one-head|qwen3-0.6b)/");
}
