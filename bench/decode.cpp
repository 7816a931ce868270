/// A decode step through the public interface, as a share of this machine's read bandwidth. Cold: every run
/// takes another cache, of so many that none is left in the processor's.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "memory/aligned.hpp"
#include "support/case.hpp"
#include "support/sample.hpp"

namespace tril::bench {
namespace {

constexpr std::size_t cold_bytes = std::size_t{512} << 20;  // several times a last-level cache

enum class storage { head_major, token_major };

struct decode_case {
  decode_case(const setting& s, storage how, bool cold)
      : ctx({.isa = s.isa.c_str(), .threads = s.threads}),
        q(normal_values(static_cast<std::size_t>(s.what.model.q_heads * s.what.model.dim), 1)),
        out(static_cast<std::size_t>(s.what.model.q_heads * s.what.model.value_dim)) {
    const auto kv = [&](std::int64_t dim) {
      return how == storage::head_major ? tril_bhtd(TRIL_F32, 1, s.what.model.kv_heads, s.tokens, dim)
                                        : tril_bthd(TRIL_F32, 1, s.tokens, s.what.model.kv_heads, dim);
    };
    shape = {.q = tril_bthd(TRIL_F32, 1, 1, s.what.model.q_heads, s.what.model.dim),
             .kv = {.k = kv(s.what.model.dim), .v = kv(s.what.model.value_dim)},
             .out = tril_bthd(TRIL_F32, 1, 1, s.what.model.q_heads, s.what.model.value_dim)};
    const auto k_count = static_cast<std::size_t>(s.tokens * s.what.model.kv_heads * s.what.model.dim);
    const auto v_count = static_cast<std::size_t>(s.tokens * s.what.model.kv_heads * s.what.model.value_dim);
    const std::size_t bytes = (k_count + v_count) * sizeof(float);
    const std::size_t caches = cold ? std::max<std::size_t>(3, (cold_bytes + bytes - 1) / bytes) : 1;
    for (std::size_t i = 0; i < caches; ++i) {
      k.push_back(normal_values(k_count, static_cast<unsigned>(2 * i + 2)));
      v.push_back(normal_values(v_count, static_cast<unsigned>(2 * i + 3)));
    }
    plan = std::make_unique<tril::plan>(ctx, shape);
    workspace = allocate_aligned(plan->workspace_bytes());
  }

  double run(std::size_t cache) {
    const double begin = now();
    const tril::status status = plan->run({.q = q.data(),
                                           .kv = {k[cache].data(), v[cache].data()},
                                           .out = out.data(),
                                           .workspace = workspace.get(),
                                           .workspace_bytes = plan->workspace_bytes()});
    return status ? now() - begin : -1;
  }

  context ctx;
  elements q, out;
  std::vector<elements> k, v;
  problem shape;
  std::unique_ptr<tril::plan> plan;
  aligned_bytes workspace;
};

void decode(benchmark::State& state, const setting& s, storage how, bool cold) {
  decode_case c(s, how, cold);
  const limits machine(kernels_of(s.isa), s.threads);
  const cost takes = cost_of(c.shape);
  const auto bytes = static_cast<double>(takes.kv_bytes);
  std::size_t cache = 0;
  const auto next = [&] { return cache = (cache + 1) % c.k.size(); };
  const auto limit = [&] {
    const std::size_t i = next();  // the probe reads a cache that is as cold
    const std::span<const float> buffers[] = {c.k[i], c.v[i]};
    return machine.bandwidth(buffers);
  };
  c.run(0);  // touches the memory
  if (sample_of_bandwidth(
          state, bytes, [&] { return c.run(next()); }, limit) < 0)
    return;
  state.counters["FLOP/B"] = static_cast<double>(takes.flops) / bytes;
}

}  // namespace
}  // namespace tril::bench

int main(int argc, char** argv) {
  using namespace tril::bench;
  for_each_setting(preset_shapes(), {1024, 4096, 16384, 65536}, [](const setting& s) {
    for (const bool cold : {true, false})
      for (const storage how : {storage::head_major, storage::token_major})
        add(s.name(how == storage::head_major ? "decode" : "decode_bthd") + (cold ? "/cold" : "/warm"), 31,
            [=](benchmark::State& state) { decode(state, s, how, cold); })
            ->Unit(benchmark::kMillisecond);
  });
  return run_benchmarks(argc, argv, "decode.*/f32/qwen3-0.6b/16384/.*/cold");
}
