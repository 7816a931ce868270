#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accuracy.hpp"
#include "measure.hpp"

namespace tril::tool {

/// What a comparison says about one implementation.
struct result {
  std::string name;  // "naive_masked", "canonical_fused", "tril"
  std::string isa;   // of the library, else ""
  int threads = 1;
  accuracy errors;      // of out
  accuracy lse_errors;  // textbook forms have none
  /// Whether its bits are those of the canonical order of its family; nothing for the textbook forms, which
  /// follow none.
  std::optional<bool> bit_identical;
  std::uint32_t max_ulp_vs_naive = 0;
  double milliseconds = 0;
  std::int64_t pairs = 0;  // (row, key) pairs that took that time; of a projection (row, output)
  double speedup_vs_naive = 0;

  bool within_bound() const { return errors.within_bound() && lse_errors.within_bound(); }

  /// Whether what the library promises holds. The textbook forms promise nothing: their error grows with the
  /// number of keys, and may leave the bound.
  bool kept() const { return !bit_identical || (*bit_identical && within_bound()); }
};

/// Holds an outcome against the definition, against the canonical order of its family (null: it has none), and
/// against `naive`. Times are compared per visible pair.
result assess(std::string name, const outcome& seen, const compared_rows& compared, const outcome* canonical,
              const outcome& naive);

/// The library's output beside somebody else's.
struct expectation {
  std::string file;
  accuracy errors;
};

/// `ours` and `theirs` hold the compared rows. Each may be as far from the definition as the bound says.
expectation assess_expected(std::string file, const std::vector<float>& ours, const std::vector<float>& theirs,
                            const compared_rows& compared);

/// The projection of the library's output by a weight from a file.
struct projection_findings {
  std::string file;
  std::int64_t in, out;
  std::int64_t rows, rows_compared;
  std::vector<result> results = {};
};

/// Everything that was found, whether all promises hold.
struct findings {
  std::vector<result> results;
  std::vector<std::string> left_out;  // instruction sets
  std::optional<expectation> expected;
  std::optional<projection_findings> projected;

  bool passed() const;
};

}  // namespace tril::tool
