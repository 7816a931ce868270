#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/aligned.hpp"
#include "reference/naive.hpp"
#include "support/case.hpp"

namespace tril::bench {

/// One layer's attention over new rows: tensors in token-major order, the plan on them, and the textbook beside it.
class attention_case {
 public:
  /// Refers to the lengths of the setting.
  explicit attention_case(const setting& s);

  /// Seconds of one run; negative if it failed.
  double run() const;

  /// The workspace that the plan asks for.
  std::size_t workspace_bytes() const { return plan_.workspace_bytes(); }
  double flops() const { return static_cast<double>(takes_.flops); }
  /// Of q, k, v and out, each moved once.
  double bytes() const { return static_cast<double>(takes_.q_bytes + takes_.kv_bytes + takes_.out_bytes); }
  double computed_over_visible() const;

  /// Flops per second, of visible pairs, of a textbook loop over rows spread through the longest sequence and the
  /// heads.
  double naive_rate(void (*naive)(const reference::row&, float*, float*) = reference::plain::naive_truncated) const;

  const context& ctx() const { return ctx_; }
  const problem& shape() const { return shape_; }
  const run_data& data() const { return data_; }

 private:
  context ctx_;
  std::string isa_;
  elements q_, k_, v_, out_;
  problem shape_;
  cost takes_;
  plan plan_;
  aligned_bytes workspace_;
  run_data data_;
};

}  // namespace tril::bench
