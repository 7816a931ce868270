#pragma once

#include "support/compare.hpp"
#include "support/context.hpp"
#include "support/workload.hpp"

namespace tril::test {

/// Squared errors against the definition, in units of the largest value that a row sees, of our rows and of those that
/// a textbook loop computes in the same precision. For rows that see all keys up to their last: the loop would multiply
/// what it finds before.
struct error_tally {
  double ours = 0, naive = 0;
  std::int64_t elements = 0;

  double ours_rms() const;
  double naive_rms() const;
};

/// Runs a workload through the public call and holds the outcome against the contract:
///   every row has the bits of the canonical order, of the family of the instruction set;
///   every element is within the definition's own bound, where inputs are finite;
///   a row with a NaN or +inf among its scores is NaN throughout;
///   each row that exists was written, and nothing else.
report verify(const context& ctx, workload& w, error_tally* tally = nullptr);

/// The rows of a workload that exist, in the order of workload::for_each_row.
struct float_rows {
  std::vector<float> out, lse;
};
float_rows results_of(const workload& w);
/// What the canonical order gives for them.
float_rows canonical_of(const workload& w, bool fused);

/// Whether two runs of the same rows have the same bits.
report compare_bits(const float_rows& actual, const float_rows& expected);

}  // namespace tril::test
