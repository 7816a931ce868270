#pragma once

#include <span>

#include "tril/context.hpp"
#include "tril/tensor.hpp"

namespace tril {

/// Joins partial results over disjoint sets of keys into the result over their union:
///
///     m = max lse_i,  w_i = exp(lse_i - m),  out = sum w_i out_i / sum w_i,  lse = m + ln sum w_i
///
/// as a left fold in the order given; a part with lse = -inf is the identity, bit for bit.
/// Every `part_out[i]` has the layout of out, every `part_lse[i]` that of lse. The result may be one of the
/// parts. Error bound and source: tril_merge_args.
/// Errors: invalid_argument naming parts, out or lse, or what overlaps.
inline status merge(const context& ctx, std::span<const void* const> part_out, std::span<const float* const> part_lse,
                    mutable_tensor out, mutable_tensor lse) noexcept {
  if (!ctx) return ctx.status();
  if (part_out.size() != part_lse.size()) return {code::invalid_argument, "parts: not as many lse as out"};
  tril_merge_args args = TRIL_MERGE_ARGS_INIT;
  args.out_layout = out.layout;
  args.lse_layout = lse.layout;
  args.parts = static_cast<int64_t>(part_out.size());
  args.part_out = part_out.data();
  args.part_lse = part_lse.data();
  args.out = out.data;
  args.lse = static_cast<float*>(lse.data);
  return tril_merge(ctx.raw(), &args);
}

}  // namespace tril
