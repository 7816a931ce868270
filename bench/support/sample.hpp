#pragma once

#include <benchmark/benchmark.h>

#include <functional>

#include "support/limits.hpp"

namespace tril::bench {

/// Samples run(), which gives its seconds, negative if it failed, each time beside the peak before and after it.
/// Reports the medians of rate, peak and share, and returns that of the rate; negative after a failure.
double sample_of_peak(benchmark::State& state, const limits& machine, double flops, const std::function<double()>& run);

/// The same of bytes read, where limit() gives the bandwidth after each run.
double sample_of_bandwidth(benchmark::State& state, double bytes, const std::function<double()>& run,
                           const std::function<double()>& limit);

}  // namespace tril::bench
