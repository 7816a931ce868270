#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "contract/table.hpp"

namespace tril::bench {

/// Seconds since some fixed moment.
double now();

double median(std::span<const double> values);

/// What this machine can do at most, measured when asked: limits drift with the clock and with the neighbours,
/// so a benchmark asks before and after every run and reports the ratio.
class limits {
 public:
  limits(const contract::kernel_table& kernels, int threads) : kernels_(kernels), threads_(threads) {}

  /// Multiply-adds per second, times two, of all threads at once. Takes about two milliseconds.
  double flops(bool many_chains = true) const;

  /// Bytes per second that all threads read together, each a part of every buffer, once.
  double bandwidth(std::span<const std::span<const float>> buffers) const;

 private:
  /// Runs work(thread) on all threads, started together; returns the seconds from the first start to the last end.
  double together(const std::function<void(int)>& work) const;

  const contract::kernel_table& kernels_;
  int threads_;
};

}  // namespace tril::bench
