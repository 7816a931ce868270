#include "reference/inputs.hpp"

#include <algorithm>
#include <cmath>

namespace tril::test {
namespace {

std::vector<float> normal(std::mt19937& random, std::int64_t count, float deviation = 1.0f) {
  std::normal_distribution<float> distribution(0.0f, deviation);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& x : values) x = distribution(random);
  return values;
}

std::vector<std::int8_t> integers(std::mt19937& random, std::int64_t count) {
  std::uniform_int_distribution<int> distribution(-128, 127);
  std::vector<std::int8_t> values(static_cast<std::size_t>(count));
  for (std::int8_t& x : values) x = static_cast<std::int8_t>(distribution(random));
  return values;
}

std::vector<float> uniform(std::mt19937& random, std::int64_t count, float least, float most) {
  std::uniform_real_distribution<float> distribution(least, most);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& x : values) x = distribution(random);
  return values;
}

std::int64_t one_of(std::mt19937& random, std::initializer_list<std::int64_t> choices) {
  return choices.begin()[std::uniform_int_distribution<std::size_t>(0, choices.size() - 1)(random)];
}

std::int64_t between(std::mt19937& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

/// Up to `most` disjoint intervals of keys, ascending; some may be empty.
std::vector<reference::key_interval> intervals(std::mt19937& random, std::int64_t keys, int most) {
  std::vector<std::int64_t> ends;
  for (int i = 0; i < 2 * most; ++i) ends.push_back(between(random, 0, keys));
  std::sort(ends.begin(), ends.end());
  std::vector<reference::key_interval> list;
  for (std::size_t i = 0; i < ends.size(); i += 2) list.push_back({ends[i], ends[i + 1]});
  return list;
}

}  // namespace

row_inputs random_row(std::mt19937& random, const modifiers& has) {
  row_inputs r{};
  r.dim = one_of(random, {1, 2, 7, 16, 33, 64, 128});
  r.value_dim = one_of(random, {1, 3, 16});
  // Within a panel, within a split, over several splits.
  r.keys = between(random, 1, one_of(random, {20, 300, 1100}));
  r.position = between(random, 0, 2 * r.keys);
  r.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(r.dim)));
  // From nearly equal weights to nearly one key alone.
  r.q = normal(random, r.dim, static_cast<float>(one_of(random, {1, 3, 30})));
  r.visible = has.several_intervals ? intervals(random, r.keys, 3) : intervals(random, r.keys, 1);
  if (has.int8_keys) {
    r.k_integers = integers(random, r.keys * r.dim);
    r.k_scales = uniform(random, r.keys, 0.0f, 0.02f);
  } else {
    r.k = normal(random, r.keys * r.dim);
  }
  if (has.int8_values) {
    r.v_integers = integers(random, r.keys * r.value_dim);
    r.v_scales = uniform(random, r.keys, 0.0f, 0.1f);
  } else {
    r.v = normal(random, r.keys * r.value_dim);
  }
  if (has.soft_cap) r.soft_cap = uniform(random, 1, 0.5f, 50.0f)[0];
  if (has.bias) {
    r.bias = normal(random, r.keys, 2.0f);
    for (float& b : r.bias)
      if (between(random, 0, 3) == 0) b = std::vector<float>{0.0f, -infinity, -largest, -1e9f}[random() % 4];
  }
  if (has.slope) r.slope = uniform(random, 1, 0.001f, 1.0f)[0];
  if (has.sink) r.sink = std::vector<float>{-infinity, -1000.0f, -1.0f, 0.0f, 2.5f, 60.0f}[random() % 6];
  if (has.mask) {
    for (std::int64_t j = 0; j < r.keys; ++j) r.mask.push_back(random() % 3 != 0);
  }
  return r;
}

}  // namespace tril::test
