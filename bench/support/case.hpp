#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/arena.hpp"
#include "support/limits.hpp"
#include "tril/presets.hpp"
#include "tril/tril.hpp"

namespace tril::bench {

/// The attention that is measured: a model's, of so many sequences at once. `chunk`: the last so many tokens are
/// new and attend to all, as in chunked prefill; 0: all are. `lengths`: of the sequences, where they differ.
struct shape {
  std::string name;
  tool::preset model;
  std::int64_t batch = 1;
  std::int64_t chunk = 0;
  std::vector<std::int32_t> lengths = {};

  std::int64_t sequences() const { return lengths.empty() ? batch : static_cast<std::int64_t>(lengths.size()); }
};

/// The presets that kernels are made for, by their own names.
std::vector<shape> preset_shapes();

/// Where one benchmark stands: <phase>/<dtype>/<shape>/<tokens>/<threads>/<isa>[/<cold|warm>].
struct setting {
  shape what;
  std::int64_t tokens;
  int threads;
  std::string isa;

  std::int64_t rows() const { return what.chunk ? what.chunk : tokens; }
  std::string name(const std::string& phase) const {
    return phase + "/f32/" + what.name + "/" + std::to_string(tokens) + "/" + std::to_string(threads) + "/" + isa;
  }
};

/// Calls use(setting) for every shape and number of tokens, for 1 thread and all that there are, and every
/// instruction set that this machine runs.
void for_each_setting(const std::vector<shape>& shapes, const std::vector<std::int64_t>& tokens,
                      const std::function<void(const setting&)>& use);

const contract::kernel_table& kernels_of(std::string_view isa);

/// Normally distributed values of unit variance. Every page is written.
elements normal_values(std::size_t count, unsigned seed);

/// Registers a benchmark that measures its own time. `samples` is how often: each sample has a probe of the
/// limits beside it, which takes longer than many a kernel.
benchmark::internal::Benchmark* add(const std::string& name, int samples, std::function<void(benchmark::State&)> body);

/// Adds what every report says of the machine, and runs what was registered; `default_filter` unless the
/// command line names one. Exit status 2 if nothing matches.
int run_benchmarks(int argc, char** argv, const char* default_filter);

}  // namespace tril::bench
