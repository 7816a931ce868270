#pragma once

/// Inputs that are the same everywhere and always, and some of which have results that can be worked out by hand.
/// Keys that nobody sees stay poisoned.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "support/workload.hpp"

namespace tril::test {

/// Numbers in [-1, 1), in the order of [batch][tokens][heads][dim].
inline void make_random(const float_tensor& t, std::uint32_t seed) {
  lcg random(seed);
  t.for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
    const std::span<float> row = t.row(batch, token, head);
    const bool unseen = std::isnan(row[0]);
    for (float& x : row)
      if (const float value = random.unit(); !unseen) x = value;
  });
}

/// A workload with random numbers of fixed seeds.
inline workload random_workload(const recipe& r) {
  workload w(r, 0);
  make_random(w.q, 1);
  make_random(w.k, 2);
  make_random(w.v, 3);
  return w;
}

/// What the value of a key tells of it: its place in a run of 256, the number of that run, that it counts, and its
/// parity. With equal weights, the means of these tell the first and the last of the keys that a row sees.
inline std::array<std::int64_t, 4> index_columns(std::int64_t key) { return {key % 256, key / 256, 1, key % 2}; }

/// They become the first four columns of all values, and the others zero.
inline void make_index_values(const float_tensor& v) {
  v.for_each_row([&](std::int64_t batch, std::int64_t key, std::int64_t head) {
    const std::span<float> row = v.row(batch, key, head);
    if (std::isnan(row[0])) return;
    std::ranges::fill(row, 0.0f);
    std::ranges::transform(index_columns(key), row.begin(), [](std::int64_t x) { return static_cast<float>(x); });
  });
}

/// The output of a row that sees the keys first ... last with equal weights. Sums of up to 2^16 keys are exact, so that
/// the division is the only rounding.
inline std::vector<float> index_means(std::int64_t first, std::int64_t last, std::int64_t value_dim) {
  std::array<std::int64_t, 4> sums = {};
  for (std::int64_t key = first; key <= last; ++key)
    std::ranges::transform(sums, index_columns(key), sums.begin(), std::plus());
  std::vector<float> means(static_cast<std::size_t>(value_dim), 0.0f);
  std::ranges::transform(sums, means.begin(), [&](std::int64_t sum) {
    return static_cast<float>(sum) / static_cast<float>(last - first + 1);
  });
  return means;
}

}  // namespace tril::test
