#include "accuracy.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tril::tool {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The place of a number among all float32, 0 being 0.
std::int64_t place(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::int64_t magnitude = bits & 0x7FFFFFFFu;
  return bits >> 31 ? -magnitude : magnitude;
}

/// Infinite where one is NaN and the other is not, or two infinities differ.
double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::abs(a - b);
  return std::isnan(d) ? infinity : d;
}

bool near_zero(double exact, double bound) { return std::abs(exact) <= bound; }

}  // namespace

std::uint32_t ulp_distance(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : nan_ulp_distance;
  return static_cast<std::uint32_t>(std::abs(place(a) - place(b)));
}

void accuracy::note(double actual, double wanted, double exact, double bound) {
  const double error = distance(actual, wanted);
  double share = error / (bounds_ * bound);
  if (error == infinity) share = infinity;
  // Values of infinity make an infinite bound: whatever comes out of them keeps it.
  if (error == 0 || bound == infinity) share = 0;
  bound_used_ = std::max(bound_used_, share);
  if (near_zero(exact, bound)) bound_used_near_zero_ = std::max(bound_used_near_zero_, share);
  max_abs_ = std::max(max_abs_, error);
  sum_of_squares_ += error * error;
  ++elements_;
}

void accuracy::add(std::span<const float> out, const reference::exact_row& exact) {
  for (std::size_t c = 0; c < out.size(); ++c)
    note(static_cast<double>(out[c]), exact.out[c], exact.out[c], exact.out_bound[c]);
}

void accuracy::add_difference(std::span<const float> out, std::span<const float> other,
                              const reference::exact_row& exact) {
  for (std::size_t c = 0; c < out.size(); ++c)
    note(static_cast<double>(out[c]), static_cast<double>(other[c]), exact.out[c], exact.out_bound[c]);
}

void accuracy::add_lse(float lse, const reference::exact_row& exact) {
  note(static_cast<double>(lse), exact.lse, exact.lse, exact.lse_bound);
}

double accuracy::rms() const {
  return elements_ == 0 ? 0 : std::sqrt(sum_of_squares_ / static_cast<double>(elements_));
}

std::uint32_t max_ulp(std::span<const float> a, std::span<const float> b, const reference::exact_row& exact) {
  std::uint32_t largest = 0;
  for (std::size_t c = 0; c < a.size(); ++c)
    if (!near_zero(exact.out[c], exact.out_bound[c])) largest = std::max(largest, ulp_distance(a[c], b[c]));
  return largest;
}

}  // namespace tril::tool
