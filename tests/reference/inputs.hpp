#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "reference/row.hpp"

namespace tril::test {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float largest = std::numeric_limits<float>::max();
inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// A row with memory of its own, for tests to change.
struct row_inputs {
  std::int64_t dim = 1, value_dim = 1, keys = 0, position = 0;
  float scale = 1.0f, soft_cap = 0.0f, slope = 0.0f, sink = -infinity;
  std::vector<float> q;                             // [dim]
  std::vector<float> k, v;                          // [keys][dim], [keys][value_dim]
  std::vector<std::int8_t> k_integers = {};         // instead of k, with k_scales
  std::vector<std::int8_t> v_integers = {};         // instead of v, with v_scales
  std::vector<float> k_scales = {}, v_scales = {};  // [keys]
  std::vector<float> bias = {};                     // [keys], or empty
  std::vector<std::uint8_t> mask = {};              // [keys], or empty
  std::vector<reference::key_interval> visible;     // what the row sees

  reference::row row() const {
    const auto vectors = [](const std::vector<float>& floats, const std::vector<std::int8_t>& integers,
                            const std::vector<float>& scales, std::int64_t extent) -> reference::vectors {
      if (scales.empty()) return {floats.data(), extent};
      return {integers.data(), extent, scales.data()};
    };
    return {
        .q = q.data(),
        .k = vectors(k, k_integers, k_scales, dim),
        .v = vectors(v, v_integers, v_scales, value_dim),
        .dim = dim,
        .value_dim = value_dim,
        .keys = keys,
        .position = position,
        .visible = visible,
        .mask = mask.empty() ? nullptr : mask.data(),
        .scale = scale,
        .soft_cap = soft_cap,
        .bias = bias.empty() ? nullptr : bias.data(),
        .slope = slope,
        .sink = sink,
    };
  }

  float* key(std::int64_t j) { return k.data() + j * dim; }
  float* value(std::int64_t j) { return v.data() + j * value_dim; }
  /// What the reference calls visible, said once more: tests of what hides a key must not ask the code they test.
  bool sees(std::int64_t j) const {
    const auto i = static_cast<std::size_t>(j);
    if (!mask.empty() && mask[i] == 0) return false;
    if (!bias.empty() && bias[i] == -infinity) return false;
    return std::any_of(visible.begin(), visible.end(),
                       [j](const reference::key_interval& keys) { return keys.first <= j && j < keys.last; });
  }
};

/// A row whose scores, before any modifier, are exactly these. Its value vectors are zeros.
inline row_inputs row_with_scores(const std::vector<float>& scores, std::int64_t value_dim = 1) {
  const auto keys = static_cast<std::int64_t>(scores.size());
  return {.value_dim = value_dim,
          .keys = keys,
          .position = keys - 1,
          .q = {1.0f},
          .k = scores,
          .v = std::vector<float>(scores.size() * static_cast<std::size_t>(value_dim)),
          .visible = {{0, keys}}};
}

/// The same with the unit vectors as values: its output is the row of weights.
inline row_inputs row_of_weights(const std::vector<float>& scores) {
  row_inputs r = row_with_scores(scores, static_cast<std::int64_t>(scores.size()));
  for (std::int64_t j = 0; j < r.keys; ++j) r.value(j)[j] = 1.0f;
  return r;
}

/// Which score modifiers a random row has.
struct modifiers {
  bool soft_cap = false, bias = false, slope = false, sink = false, mask = false, int8_keys = false,
       int8_values = false, several_intervals = false;
};

/// A row of random sizes and contents.
row_inputs random_row(std::mt19937& random, const modifiers& has);

}  // namespace tril::test
