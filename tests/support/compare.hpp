#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tril::test {

/// What a comparison found. Use it as INFO(report.text); REQUIRE(report.ok).
struct report {
  bool ok = true;
  std::string text = {};
  std::size_t first_fault_row = 0;
  double largest_share = 0;  ///< The largest error, as a share of its bound.
};

/// Whether two arrays of rows of `columns` elements are equal, bit for bit. Nothing equals nothing is a fault.
report compare_bits(std::span<const float> actual, std::span<const float> expected, std::size_t columns);

/// Whether every element is within its bound of what is expected. NaN and infinities must be where they are expected
/// and nowhere else, whatever the bound. An array of zeros where other values are expected is a fault even within the
/// bounds, as is an empty array.
report compare_within(std::span<const float> actual, std::span<const double> expected, std::span<const double> bound,
                      std::size_t columns);

}  // namespace tril::test
