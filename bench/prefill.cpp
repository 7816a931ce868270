/// Prefill through the public interface, as a share of this machine's multiply-add peak.

#include "support/attention_case.hpp"
#include "support/sample.hpp"

namespace tril::bench {
namespace {

void prefill(benchmark::State& state, const setting& s) {
  const attention_case c(s);
  const limits machine(kernels_of(s.isa), s.threads);
  c.run();  // touches the memory
  const double rate = sample_of_peak(state, machine, c.flops(), [&] { return c.run(); });
  if (rate < 0) return;
  state.counters["FLOP/B"] = c.flops() / c.bytes();
  state.counters["speedup_vs_naive"] = rate / c.naive_rate();
  state.counters["computed_over_visible"] = c.computed_over_visible();
  state.counters["workspace_MiB"] = static_cast<double>(c.workspace_bytes()) / 1048576.0;
}

void add_prefill(const setting& s) {
  const double pairs = static_cast<double>(s.rows()) * static_cast<double>(s.tokens);
  add(s.name("prefill"), pairs <= 0x1p22 ? 15 : 7, [s](benchmark::State& state) {
    prefill(state, s);
  })->Unit(benchmark::kMillisecond);
}

tool::preset heads(std::int64_t q, std::int64_t kv, std::int64_t dim) {
  return {.name = "", .q_heads = q, .kv_heads = kv, .dim = dim, .value_dim = dim};
}

/// Beyond one sequence of a known model: batches, also of unequal lengths, head sizes that are no power of two, chunks,
/// windows.
void add_other_shapes() {
  const auto add_shape = [](const shape& what, std::int64_t tokens) {
    for_each_setting({what}, {tokens}, add_prefill);
  };
  const tool::preset qwen = *tool::find_preset("qwen3-0.6b"), bert = *tool::find_preset("bert-base");
  add_shape({.name = "gpt-2-x4", .model = *tool::find_preset("gpt-2"), .batch = 4}, 1024);
  add_shape({.name = "bert-base-x8", .model = bert, .batch = 8}, 512);
  for (const std::int64_t dim : {80, 96, 112, 128, 256})
    add_shape({.name = "heads-32-8-dim-" + std::to_string(dim), .model = heads(32, 8, dim)}, 2048);
  // Very unequal, and in no order: one is worth as much as all others together.
  add_shape({.name = "qwen3-0.6b-ragged", .model = qwen, .lengths = {60, 900, 16, 2048, 700, 1, 1300, 250}}, 2048);
  for (const std::int64_t tokens : {16384, 131072})
    add_shape({.name = "qwen3-0.6b-chunk-512", .model = qwen, .chunk = 512}, tokens);
  tool::preset windowed = qwen;
  windowed.window_left = 1023;
  add_shape({.name = "qwen3-0.6b-window-1024", .model = windowed}, 8192);
}

}  // namespace
}  // namespace tril::bench

int main(int argc, char** argv) {
  using namespace tril::bench;
  for_each_setting(preset_shapes(), {128, 512, 1024, 2048, 4096, 8192, 16384}, add_prefill);
  add_other_shapes();
  return run_benchmarks(argc, argv, "prefill/f32/qwen3-0.6b/(512|2048)/");
}
