#pragma once

#include "tril/plan.hpp"

namespace tril {

/// All defaults: causal, bottom-right, no window, scaled by 1/sqrt(dim).
struct attention_options {
  bool causal = true;                          ///< Row i sees no key beyond its own position.
  tril::window window = {};                    ///< Default: none.
  std::optional<float> scale = {};             ///< Default 1/sqrt(dim), dim being q's.
  std::span<const int32_t> q_lengths = {};     ///< `[batch]` rows of each sequence; empty: all.
  std::span<const int32_t> kv_lengths = {};    ///< `[batch]` keys of each sequence; empty: all.
  std::span<const int32_t> query_offset = {};  ///< `[batch]` position of row 0; empty: keys - rows.
  mutable_tensor lse = {};                     ///< `[batch][rows][q heads][1]` float32; empty: not wanted.
  void* workspace = nullptr;                   ///< 64-byte aligned; null: allocated for the call.
  std::size_t workspace_bytes = 0;             ///< At least the plan's workspace_bytes().
};

/// Scaled dot-product attention, causal unless told otherwise:
///
///     s_ij = scale <q_i, k_j>,  o_i = sum_j exp(s_ij - m_i) v_j / l_i,  lse_i = m_i + ln l_i
///
/// over the keys j that row i sees, with m_i the largest of their scores and l_i the sum of the
/// exponentials. o_i is a convex combination of the values seen. (Vaswani et al. 2017, eq. 1 and section
/// 3.2.1 for 1/sqrt(dim); computed in one pass over the keys as in Milakov and Gimelshein 2018 and Dao et al.
/// 2022, see tril.h.)
///
///     q    [batch][rows][q heads][dim]           out  [batch][rows][q heads][value_dim]
///     k    [batch][keys][kv heads][dim]          v    [batch][keys][kv heads][value_dim]
///
/// kv heads divide q heads: query head h uses KV head floor(h / (q heads / kv heads)). dim and value_dim
/// are 1 ... 1024. Strides are free except for the innermost one, which is 1. All lengths count tokens.
///
/// Equal rows give equal bits, whatever the number of threads, the batch, the layout and the cut into
/// calls. A row that sees no key gives zeros and lse = -inf. A NaN or +inf in a visible score gives NaN in
/// its row and nowhere else; what a row does not see has no effect on it.
///
/// Errors: invalid_argument naming q, k, v, out, lse, an option or the workspace; out_of_memory;
/// executor_failed; what the context carries, if it could not be made. Nothing is written before all checks
/// have passed.
inline status attention(const context& ctx, tensor q, tensor k, tensor v, mutable_tensor out,
                        const attention_options& options = {}) noexcept {
  if (!ctx) return ctx.status();
  const problem p = {
      .q = q.layout,
      .kv = {.k = k.layout, .v = v.layout, .lengths = options.kv_lengths},
      .out = out.layout,
      .lse = options.lse.layout,
      .visibility = {options.causal, options.window, options.q_lengths, options.query_offset},
      .scale = options.scale,
  };
  const tril_attention_data data = detail::c_data({
      .q = q.data,
      .kv = {k.data, v.data},
      .out = out.data,
      .lse = static_cast<float*>(options.lse.data),
      .workspace = options.workspace,
      .workspace_bytes = options.workspace_bytes,
  });
  return detail::with_c_args(
      p, [&](const tril_attention_args& args) { return status(tril_attention(ctx.raw(), &args, &data)); });
}

}  // namespace tril
