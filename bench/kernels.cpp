/// Each kernel of the list by itself, on data in L1 or L2, one thread.

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "memory/aligned.hpp"
#include "support/case.hpp"

namespace tril::bench {
namespace {

using contract::kernel_table;
using contract::panel_keys;
using contract::split_keys;

constexpr std::int64_t dim = 128;
constexpr int samples = 31;

/// Times `run`, called often enough that the clock does not matter; `flops` per call, 0 if that is no measure.
void measure(benchmark::State& state, const kernel_table& kernels, double flops, const std::function<void()>& run) {
  const limits machine(kernels, 1);
  constexpr int calls = 200;
  std::vector<double> times, shares;
  for (auto _ : state) {
    const double peak = machine.flops();
    const double begin = now();
    for (int i = 0; i < calls; ++i) run();
    const double seconds = (now() - begin) / calls;
    state.SetIterationTime(seconds);
    times.push_back(seconds);
    shares.push_back(flops / seconds / peak);
  }
  if (flops == 0) return;
  state.counters["GFLOP/s"] = flops / median(times) * 1e-9;
  state.counters["of_peak"] = median(shares);
}

/// Data that suits every kernel.
struct arena {
  elements floats = normal_values(std::size_t{1} << 20, 7);
  elements to = elements(std::size_t{1} << 20);

  const float* at(std::int64_t offset) const { return floats.data() + offset; }
};

void add_tiles(const kernel_table& kernels, const std::string& prefix) {
  const auto [block_rows, qk_rows, qk_panels, pv_rows, pv_columns] = kernels.tiles;
  const auto size = [](int rows, int columns) { return std::to_string(rows) + "x" + std::to_string(columns); };
  add(prefix + "qk_f32_f32/" + size(qk_rows, panel_keys * qk_panels), samples, [&kernels](benchmark::State& state) {
    arena a;
    const auto [block, rows, panels, pv, columns] = kernels.tiles;
    std::vector<const void*> k;
    for (int p = 0; p < panels; ++p) k.push_back(a.at((p + 1) * dim * panel_keys));
    measure(state, kernels, 2.0 * rows * panels * panel_keys * static_cast<double>(dim), [&] {
      kernels.qk({a.at(0), k.data(), dim, a.to.data()});
    });
  });
  add(prefix + "pv_f32_f32/" + size(pv_rows, pv_columns), samples, [&kernels](benchmark::State& state) {
    arena a;
    const std::int64_t columns = contract::padded_columns(kernels.tiles.pv_columns);
    std::vector<const void*> v;
    for (int p = 0; p < contract::panels_per_split; ++p) v.push_back(a.at(65536 + p * columns * panel_keys));
    measure(state, kernels, 2.0 * kernels.tiles.qk_rows * split_keys * static_cast<double>(columns), [&] {
      kernels.pv({a.at(0), v.data(), contract::panels_per_split, a.to.data()});
    });
  });
}

void add_steps(const kernel_table& kernels, const std::string& prefix) {
  add(prefix + "softmax/1x256", samples, [&kernels](benchmark::State& state) {
    arena a;
    measure(state, kernels, 0, [&] {
      std::copy_n(a.at(0), split_keys, a.to.begin());  // in place: the scores must be there again
      contract::softmax_args args{a.to.data(), contract::panels_per_split, 0, 0};
      kernels.softmax(args);
    });
  });
  for (const bool values : {false, true})
    add(prefix + (values ? "pack_v_f32/16x128" : "pack_k_f32/16x128"), samples,
        [&kernels, values](benchmark::State& state) {
          arena a;
          const void* rows[panel_keys];
          for (int i = 0; i < panel_keys; ++i) rows[i] = a.at(i * dim);
          const contract::pack_args args{rows, panel_keys, static_cast<std::int32_t>(dim), a.to.data()};
          measure(state, kernels, 0, [&] {
            if (values)
              kernels.pack_v(args);
            else
              kernels.pack_k(args);
          });
        });
  add(prefix + "exp32/256", samples, [&kernels](benchmark::State& state) {
    arena a;
    measure(state, kernels, 0, [&] { kernels.exp(a.to.data(), split_keys); });
  });
  add(prefix + "merge_f32/1x128", samples, [&kernels](benchmark::State& state) {
    arena a;
    float lse = 0;
    measure(state, kernels, 0, [&] {
      kernels.merge({a.at(0), a.at(dim), 0.5f, 0.25f, a.to.data(), &lse, static_cast<std::int32_t>(dim)});
    });
  });
}

/// A projection's rows, packed, and a block of them by 16 panels.
void add_projection(const kernel_table& kernels, const std::string& prefix) {
  const std::int32_t qk_rows = kernels.tiles.qk_rows, block_rows = kernels.tiles.block_rows;
  add(prefix + "pack_x_f32/" + std::to_string(qk_rows) + "x128", samples, [&kernels, qk_rows](benchmark::State& state) {
    arena a;
    const float* x[contract::max_block_rows];
    for (int i = 0; i < qk_rows; ++i) x[i] = a.at(i * dim);
    measure(state, kernels, 0, [&] {
      kernels.pack_x({.x = x, .rows = qk_rows, .heads = 1, .dim = dim, .head_stride = 0, .packed = a.to.data()});
    });
  });
  add(prefix + "project_f32_f32/" + std::to_string(block_rows) + "x256", samples,
      [&kernels, block_rows](benchmark::State& state) {
        arena a;
        float* y[contract::max_block_rows];
        for (int i = 0; i < block_rows; ++i) y[i] = a.to.data() + i * split_keys;
        const aligned_bytes sums = allocate_aligned(sizeof(float) * static_cast<std::size_t>(block_rows * split_keys));
        measure(state, kernels, 2.0 * block_rows * split_keys * static_cast<double>(dim), [&] {
          kernels.project({.x = a.at(0),
                           .y = y,
                           .rows = block_rows,
                           .in = dim,
                           .weight = a.at(262144),
                           .bias = nullptr,
                           .out = split_keys,
                           .first_panel = 0,
                           .last_panel = contract::panels_per_split,
                           .sums = reinterpret_cast<float*>(sums.get())});
        });
      });
}

/// A block of rows against one split, as prefill runs it: scores, softmax and values together.
void add_block(const kernel_table& kernels, const std::string& prefix) {
  add(prefix + "attend_split_f32_f32/" + std::to_string(kernels.tiles.block_rows) + "x256", samples,
      [&kernels](benchmark::State& state) {
        arena a;
        const std::int32_t rows = kernels.tiles.block_rows;
        const aligned_bytes scratch = allocate_aligned(kernels.block_bytes(dim, dim));
        std::vector<contract::query_row> row(static_cast<std::size_t>(rows));
        for (int i = 0; i < rows; ++i)
          row[static_cast<std::size_t>(i)] = {.q = a.at(i * dim),
                                              .out = a.to.data() + i * dim,
                                              .lse = nullptr,
                                              .bias = nullptr,
                                              .position = 0,
                                              .slope = 0,
                                              .sink = numeric::negative_infinity};
        const contract::row_block block{
            row.data(), rows,         static_cast<std::int32_t>(dim), static_cast<std::int32_t>(dim), 0.088f, 0.0f,
            false,      scratch.get()};
        contract::key_panel panels[contract::panels_per_split];
        for (int p = 0; p < contract::panels_per_split; ++p)
          panels[p] = {a.at(131072 + p * 4096), a.at(262144 + p * 4096), nullptr, nullptr, nullptr, p, true};
        kernels.begin_rows(block);
        measure(state, kernels, 4.0 * rows * split_keys * static_cast<double>(dim), [&] {
          kernels.attend_split(block, {panels, contract::panels_per_split, 0});
        });
      });
}

}  // namespace
}  // namespace tril::bench

int main(int argc, char** argv) {
  using namespace tril::bench;
  for (int i = 0; tril_isa_name(i) != nullptr; ++i) {
    if (!tril_isa_supported(tril_isa_name(i))) continue;
    const auto& kernels = kernels_of(tril_isa_name(i));
    const std::string prefix = std::string("kernel/") + kernels.name + "/";
    add_tiles(kernels, prefix);
    add_steps(kernels, prefix);
    add_block(kernels, prefix);
    add_projection(kernels, prefix);
  }
  return run_benchmarks(argc, argv, ".");
}
