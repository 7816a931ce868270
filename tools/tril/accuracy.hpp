#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "reference/attention.hpp"

namespace tril::tool {

/// Steps from one float32 to another along all of them, -0 and +0 being one. NaN equals NaN, and is further than
/// anything from a number.
std::uint32_t ulp_distance(float a, float b);

inline constexpr std::uint32_t nan_ulp_distance = std::numeric_limits<std::uint32_t>::max();

/// How far float32 rows are from the definition.
class accuracy {
 public:
  /// `bounds`: how many bounds wide the allowance is: 1 for a result, 2 for the difference of two.
  explicit accuracy(double bounds = 1) : bounds_(bounds) {}

  /// One row: out [value_dim].
  void add(std::span<const float> out, const reference::exact_row& exact);
  /// The lse of a row.
  void add_lse(float lse, const reference::exact_row& exact);
  /// One row against another float32 result of it rather than the definition, which still gives the bound.
  void add_difference(std::span<const float> out, std::span<const float> other, const reference::exact_row& exact);

  double max_abs() const { return max_abs_; }
  double rms() const;
  /// The largest share of its allowance that an error takes. Above 1 the bound is broken.
  double bound_used() const { return bound_used_; }
  /// The same over elements that are smaller than their bound: not even their sign is certain, and their
  /// distance in ulp says nothing.
  double bound_used_near_zero() const { return bound_used_near_zero_; }
  bool within_bound() const { return bound_used_ <= 1; }

 private:
  void note(double actual, double wanted, double exact, double bound);

  double bounds_;
  double max_abs_ = 0, sum_of_squares_ = 0;
  double bound_used_ = 0, bound_used_near_zero_ = 0;
  std::int64_t elements_ = 0;
};

/// The largest distance between two float32 results of a row, over elements that are not near zero.
std::uint32_t max_ulp(std::span<const float> a, std::span<const float> b, const reference::exact_row& exact);

}  // namespace tril::tool
