#pragma once

/// The projection behind attention, y = o W^T + bias, of the output that the library gave.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inputs.hpp"
#include "results.hpp"
#include "tril/projection.hpp"

namespace tril::tool {

/// W [out][in] and a bias [out], which may be empty.
struct projection_weight {
  std::string source;  // the names of the files
  std::int64_t in, out;
  std::vector<float> weight, bias;

  linear layer() const { return {in, out, weight.data(), 0, 0, bias.empty() ? nullptr : bias.data()}; }
};

/// Throws bad_input unless it takes heads times dim elements, those of an output.
projection_weight read_projection(const std::string& wo, const std::optional<std::string>& bias, const layout& output);

/// Rows of an output, all heads of a token each, and the textbook's and the definition's results for them.
class projected_rows {
 public:
  /// Looks at as many of all rows as can be defined in about a second, drawn by `seed`.
  projected_rows(const projection_weight& by, const std::vector<float>& x, const layout& x_layout, std::uint64_t seed);

  std::int64_t total() const { return compared_.total; }
  std::int64_t compared() const { return std::ssize(compared_.index); }

  result assess_naive() const;
  result assess_library(const context& ctx, bool fused) const;

 private:
  template <class Project>
  outcome run_rows(Project project) const;

  const projection_weight& by_;
  tensor x_;
  std::vector<float> rows_;  // [compared rows][in]
  compared_rows compared_;
  outcome naive_;
  outcome canonical_[2];  // unfused, fused
};

}  // namespace tril::tool
