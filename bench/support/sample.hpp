#pragma once

#include <benchmark/benchmark.h>

#include <functional>

#include "support/limits.hpp"

namespace tril::bench {

/// Samples of run(), which gives its seconds, negative if it failed: each beside what this machine can do at that
/// moment. Reports the medians, and returns that of the rate; negative after a failure.

/// Rate, peak and share of multiply-adds, the peak being that before and after each run.
double sample_of_peak(benchmark::State& state, const limits& machine, double flops, const std::function<double()>& run);

/// The same of bytes read; `limit` gives the bandwidth after each run.
double sample_of_bandwidth(benchmark::State& state, double bytes, const std::function<double()>& run,
                           const std::function<double()>& limit);

}  // namespace tril::bench
