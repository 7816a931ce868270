#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "rows.hpp"
#include "tril/tril.hpp"

namespace tril::tool {

template <class Run>
double milliseconds_of(Run run) {
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  run();
  return std::chrono::duration<double, std::milli>(clock::now() - start).count();
}

/// The median time of up to 7 runs, as many as fit into a second.
template <class Run>
double median_milliseconds(Run run) {
  std::vector<double> times;
  double spent = 0;
  do {
    times.push_back(milliseconds_of(run));
    spent += times.back();
  } while (times.size() < 7 && spent < 1000);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// What an implementation made of the compared rows, and its time.
struct outcome {
  std::vector<float> out;  // [compared rows][value_dim]
  std::vector<float> lse;  // [compared rows]; empty if it computes none
  double milliseconds = 0;
  std::int64_t pairs = 0;  // (row, key) pairs that took that time

  double nanoseconds_per_pair() const { return pairs == 0 ? 0 : 1e6 * milliseconds / static_cast<double>(pairs); }
};

/// One of the textbook forms, see reference/naive.hpp.
using naive_function = void (*)(const reference::row& r, float* scores, float* out);

/// The reference implementations compute, and are timed on, the compared rows alone.
outcome run_naive(naive_function naive, const compared_rows& compared);
outcome run_canonical(bool fused, const compared_rows& compared);

/// The library computes all rows; `whole` receives them.
outcome run_library(const context& ctx, const problem& p, const run_data& data, std::int64_t pairs,
                    const compared_rows& compared, std::vector<float>& whole);

}  // namespace tril::tool
