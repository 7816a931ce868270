#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/limits.hpp"
#include "tril/presets.hpp"
#include "tril/tril.hpp"

namespace tril::bench {

/// Where one benchmark stands: <phase>/<dtype>/<preset>/<tokens>/<threads>/<isa>[/<cold|warm>].
struct setting {
  const tool::preset& model;
  std::int64_t tokens;
  int threads;
  std::string isa;

  std::string name(const std::string& phase) const {
    return phase + "/f32/" + std::string(model.name) + "/" + std::to_string(tokens) + "/" + std::to_string(threads) +
           "/" + isa;
  }
};

/// Calls use(setting) for every preset, for 1 thread and all that there are, and every instruction set that
/// this machine runs.
void for_each_setting(const std::vector<std::int64_t>& tokens, const std::function<void(const setting&)>& use);

const contract::kernel_table& kernels_of(std::string_view isa);

/// Normally distributed values of unit variance. Every page is written.
std::vector<float> normal_values(std::size_t count, unsigned seed);

/// Registers a benchmark that measures its own time. `samples` is how often: each sample has a probe of the
/// limits beside it, which takes longer than many a kernel.
benchmark::internal::Benchmark* add(const std::string& name, int samples, std::function<void(benchmark::State&)> body);

/// Adds what every report says of the machine, and runs what was registered; `default_filter` unless the
/// command line names one. Exit status 2 if nothing matches.
int run_benchmarks(int argc, char** argv, const char* default_filter);

}  // namespace tril::bench
