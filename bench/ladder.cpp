/// Where a speed-up comes from, step by step: the textbook loop over all keys with a mask, the same stopped at the
/// diagonal, the same source vectorised by the compiler, and tril with one thread and with all.

#include <vector>

#include "support/attention_case.hpp"

namespace tril::bench {
namespace {

/// Rates of visible flops per second, one per sample; negative where a call failed.
template <class Rate>
void climb(benchmark::State& state, const attention_case& c, const limits& machine, Rate rate) {
  std::vector<double> rates, peaks, speedups;
  for (auto _ : state) {
    peaks.push_back(machine.flops());
    const double naive = c.naive_rate();
    rates.push_back(rate());
    if (rates.back() < 0) return state.SkipWithError("the call failed");
    speedups.push_back(rates.back() / naive);
    state.SetIterationTime(c.flops() / rates.back());
  }
  state.counters["GFLOP/s"] = median(rates) * 1e-9;
  state.counters["peak_GFLOP/s"] = median(peaks) * 1e-9;
  state.counters["speedup_vs_naive"] = median(speedups);
}

void add_textbook(const setting& s, const char* step, decltype(reference::plain::naive_masked)& naive) {
  setting named = s;
  named.isa = step;
  add(named.name("ladder"), 7, [s, &naive](benchmark::State& state) {
    const attention_case c(s);
    climb(state, c, limits(kernels_of(s.isa), 1), [&] { return c.naive_rate(naive); });
  })->Unit(benchmark::kMillisecond);
}

void add_library(const setting& s) {
  add(s.name("ladder"), 7, [s](benchmark::State& state) {
    const attention_case c(s);
    climb(state, c, limits(kernels_of(s.isa), s.threads), [&] { return c.flops() / c.run(); });
  })->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace tril::bench

int main(int argc, char** argv) {
  using namespace tril::bench;
  using namespace tril::reference;
  for (const std::int64_t tokens : {512, 2048, 4096}) {
    for (const shape& what : preset_shapes()) {
      const setting foot = {what, tokens, 1, tril::context().isa()};
      add_textbook(foot, "naive_masked", plain::naive_masked);
      add_textbook(foot, "naive_truncated", plain::naive_truncated);
      add_textbook(foot, "naive_vectorised", vectorised::naive_truncated);
      for_each_setting({what}, {tokens}, add_library);
    }
  }
  return run_benchmarks(argc, argv, "ladder/f32/qwen3-0.6b/2048/");
}
