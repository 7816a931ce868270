#pragma once

#include <cstdint>
#include <vector>

#include "rows.hpp"
#include "tril/tril.hpp"

namespace tril::tool {

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
