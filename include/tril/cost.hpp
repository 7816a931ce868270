#pragma once

#include "tril/plan.hpp"

namespace tril {

/// What a problem takes: exact counts (see tril_cost).
struct cost {
  tril::status status;        ///< Of the counting; after an error all counts are 0.
  int64_t visible_pairs = 0;  ///< (row, key) pairs over all sequences and query heads.
  int64_t flops = 0;          ///< 2 (dim + value_dim) visible_pairs.
  int64_t kv_bytes = 0;       ///< K and V that some row sees, once per KV head.
  int64_t q_bytes = 0;        ///< Queries read.
  int64_t out_bytes = 0;      ///< Outputs and lse written.
};

/// Counts what a problem takes. Errors: those of a plan; invalid_argument for counts of more than 64 bits.
inline cost cost_of(const problem& p) noexcept {
  tril_cost c = TRIL_COST_INIT;
  status status = detail::with_c_args(
      p, [&](const tril_attention_args& args) { return tril::status(tril_attention_cost(&args, &c)); });
  return {status, c.visible_pairs, c.flops, c.kv_bytes, c.q_bytes, c.out_bytes};
}

}  // namespace tril
