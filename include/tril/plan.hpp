#pragma once

#include <memory>
#include <optional>

#include "tril/context.hpp"
#include "tril/kv.hpp"
#include "tril/visibility.hpp"

namespace tril {

/// An attention problem: shapes and options, no data. See tril_attention_args for the meaning.
struct problem {
  layout q = {};                     ///< `[batch][rows][q heads][dim]`
  kv_layout kv = {};                 ///< Keys and values.
  layout out = {};                   ///< `[batch][rows][q heads][value_dim]`
  layout lse = {};                   ///< `[batch][rows][q heads][1]`, float32; default: not wanted.
  tril::visibility visibility = {};  ///< Default: causal, bottom-right.
  std::optional<float> scale = {};   ///< Finite; default 1/sqrt(dim).
};

/// The pointers of one run, each to element `[0][0][0][0]` of its layout. Outputs overlap nothing else.
struct run_data {
  const void* q = nullptr;          ///< Read.
  kv_data kv = {};                  ///< Read.
  void* out = nullptr;              ///< Written.
  float* lse = nullptr;             ///< Written; null exactly when the problem has no layout for it.
  void* workspace = nullptr;        ///< 64-byte aligned; null: allocated for the call.
  std::size_t workspace_bytes = 0;  ///< At least the plan's workspace_bytes(), if there is a workspace.
};

namespace detail {

inline tril_attention_data c_data(const run_data& data) noexcept {
  tril_attention_data c = TRIL_ATTENTION_DATA_INIT;
  c.q = data.q;
  c.k = data.kv.k;
  c.v = data.kv.v;
  c.out = data.out;
  c.lse = data.lse;
  c.workspace = data.workspace;
  c.workspace_bytes = data.workspace_bytes;
  return c;
}

/// Calls use(args) with the C form of a problem, or returns why it has none: the C arrays have no length.
template <class Use>
status with_c_args(const problem& p, Use use) noexcept {
  const auto one_per_sequence = [&](std::span<const int32_t> values) {
    return values.empty() || static_cast<int64_t>(values.size()) == p.q.extents[0];
  };
  if (!one_per_sequence(p.kv.lengths)) return {code::invalid_argument, "kv_lengths: not one entry per sequence"};
  if (!one_per_sequence(p.visibility.q_lengths))
    return {code::invalid_argument, "q_lengths: not one entry per sequence"};
  if (!one_per_sequence(p.visibility.query_offset))
    return {code::invalid_argument, "query_offset: not one entry per sequence"};
  const auto pointer = [](std::span<const int32_t> values) { return values.empty() ? nullptr : values.data(); };
  tril_kv_layout kv = TRIL_KV_LAYOUT_INIT;
  kv.k = p.kv.k;
  kv.v = p.kv.v;
  kv.lengths = pointer(p.kv.lengths);
  tril_attention_args args = TRIL_ATTENTION_ARGS_INIT;
  args.q = p.q;
  args.out = p.out;
  args.lse = p.lse;
  args.kv = &kv;
  args.q_lengths = pointer(p.visibility.q_lengths);
  args.query_offset = pointer(p.visibility.query_offset);
  args.flags = (p.visibility.causal ? 0u : static_cast<uint32_t>(TRIL_FULL)) |
               (p.scale ? static_cast<uint32_t>(TRIL_SCALE_SET) : 0u);
  args.scale = p.scale.value_or(0.0f);
  args.window_left = p.visibility.window.left;
  args.window_right = p.visibility.window.right;
  return use(args);
}

}  // namespace detail

/// A validated problem, cut into tasks: make it once per step, run it once per layer, from several threads
/// if you like (each run with its own workspace). It keeps no reference to what it was made from.
class plan {
 public:
  /// Errors: invalid_argument naming q, k, v, out, lse or an option; out_of_memory; the context's.
  plan(const context& ctx, const problem& p) noexcept {
    status_ = ctx ? detail::with_c_args(p,
                                        [&](const tril_attention_args& args) {
                                          tril_plan* raw = nullptr;
                                          tril::status made = tril_plan_create(ctx.raw(), &args, &raw);
                                          raw_.reset(raw);
                                          return made;
                                        })
                  : ctx.status();
  }

  /// Why it could not be made; true after success.
  const tril::status& status() const noexcept { return status_; }
  /// Whether it could be made.
  explicit operator bool() const noexcept { return static_cast<bool>(status_); }

  /// Exactly the bytes a run uses; with a workspace of that size it allocates nothing.
  std::size_t workspace_bytes() const noexcept { return raw_ ? tril_plan_workspace_bytes(raw_.get()) : 0; }

  /// The kernel that attends, as `tril info` lists it: "avx512/attend_split_f32_f32"; "" if there is no plan.
  const char* kernel() const noexcept { return raw_ ? tril_plan_kernel(raw_.get()) : ""; }

  /// Errors: invalid_argument naming q, k, v, out, lse or workspace; out_of_memory; executor_failed; why the
  /// plan could not be made.
  tril::status run(const run_data& data) const noexcept {
    if (!raw_) return status_;
    const tril_attention_data c = detail::c_data(data);
    return tril_plan_run(raw_.get(), &c);
  }

  /// For engines with their own threads: stages in order, a barrier after each; within a stage tasks in any
  /// order.
  int64_t stages() const noexcept { return raw_ ? tril_plan_stages(raw_.get()) : 0; }
  /// The tasks of a stage.
  int64_t tasks(int64_t stage) const noexcept { return raw_ ? tril_plan_tasks(raw_.get(), stage) : 0; }
  /// Runs a task on the calling thread, whose scratch `worker` names, in [0, context threads): no two tasks at
  /// work at once share it. All tasks of a run have the same data, with a workspace.
  tril::status run_task(int64_t stage, int64_t task, int worker, const run_data& data) const noexcept {
    if (!raw_) return status_;
    const tril_attention_data c = detail::c_data(data);
    return tril_plan_run_task(raw_.get(), stage, task, worker, &c);
  }

 private:
  struct destroy {
    void operator()(tril_plan* raw) const noexcept { tril_plan_destroy(raw); }
  };
  tril::status status_;
  std::unique_ptr<tril_plan, destroy> raw_;
};

}  // namespace tril
