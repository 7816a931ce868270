#pragma once

/// What scores look like to a softmax: how far they spread, how much of the weight the largest takes, and where
/// the mass lies.

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "reference/row.hpp"

namespace tril::tool {

/// Distances between a row's position and a key: bin 0 is the row's own key, bin b holds 4^(b-1) ... 4^b - 1.
constexpr int distance_bins = 9;
std::string distance_text(int bin);

/// The softmax of some rows, summed up. A row that sees a single key has no choice, and is left out.
struct softmax_sums {
  double entropy = 0;          // natural logarithm
  double largest = 0;          // weight
  std::int64_t saturated = 0;  // rows whose largest weight exceeds 0.99
};

/// Rows, looked at in double precision.
struct score_sums {
  std::int64_t rows = 0;                        // that see two keys or more
  std::int64_t pairs = 0;                       // visible
  double scores = 0, squares = 0, largest = 0;  // of <q, k>: sum, sum of squares, greatest absolute value
  softmax_sums raw, scaled;                     // of <q, k>, and of scale * <q, k>
  double log_keys = 0;                          // sum of the greatest entropy that rows could have, ln(visible keys)
  std::array<double, distance_bins> mass = {};  // of the scaled softmax, over the rows
  std::array<double, distance_bins> even_mass = {};  // the same if every visible key had the same weight
  double first_key = 0, even_first_key = 0;          // the part of the mass on key 0

  void add(const reference::row& r);
  void add(const score_sums& other);

  double spread() const;  // standard deviation of <q, k>
};

/// The root mean square of an array.
double root_mean_square(std::span<const float> values);

}  // namespace tril::tool
