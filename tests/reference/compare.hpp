#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "reference/attention.hpp"
#include "reference/canonical.hpp"
#include "support/catch.hpp"

namespace tril::test {

inline std::uint32_t bits_of(float x) { return numeric::bits_as<std::uint32_t>(x); }

inline bool same_bits(const reference::float_row& a, const reference::float_row& b) {
  return a.out.size() == b.out.size() && std::memcmp(a.out.data(), b.out.data(), a.out.size() * sizeof(float)) == 0 &&
         bits_of(a.lse) == bits_of(b.lse);
}

/// Requires that a result lies within the definition's bound, NaN where it is NaN. Returns the largest share
/// of the bound that was used.
inline double share_of_bound(const reference::float_row& found, const reference::exact_row& exact) {
  double share = 0;
  const auto compare = [&share](float result, double expected, double bound) {
    CAPTURE(result, expected, bound);
    if (std::isnan(expected)) {
      REQUIRE(bits_of(result) == numeric::canonical_nan_bits);
    } else if (std::isinf(expected)) {
      REQUIRE(static_cast<double>(result) == expected);
    } else {
      const double error = std::abs(static_cast<double>(result) - expected);
      REQUIRE(error <= bound);  // false for NaN
      if (error > 0) share = std::max(share, error / bound);
    }
  };
  REQUIRE(found.out.size() == exact.out.size());
  for (std::size_t c = 0; c < exact.out.size(); ++c) compare(found.out[c], exact.out[c], exact.out_bound[c]);
  compare(found.lse, exact.lse, exact.lse_bound);
  return share;
}

}  // namespace tril::test
