#include "api/validate.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <initializer_list>

#include "api/layout.hpp"
#include "api/sized.hpp"
#include "memory/aligned.hpp"
#include "plan/visible.hpp"

namespace tril::api {
namespace {

constexpr std::uint32_t known_flags = TRIL_FULL | TRIL_SCALE_SET;
constexpr std::int64_t max_rows = std::int64_t{1} << 34;   // over all sequences and heads; bounds a plan's own memory
constexpr std::int64_t max_units = std::int64_t{1} << 30;  // sequences x KV heads
constexpr std::int64_t max_window = std::int64_t{1} << 61;

bool is_absent(const tril_layout& l) {
  const auto zero = [](std::int64_t x) { return x == 0; };
  return l.dtype == 0 && l.reserved == 0 && std::all_of(std::begin(l.extents), std::end(l.extents), zero) &&
         std::all_of(std::begin(l.strides), std::end(l.strides), zero);
}

tril_status check_equal(const char* name, const char* axis, std::int64_t extent, const char* other_name,
                        std::int64_t other) noexcept {
  if (extent == other) return ok();
  return failure(TRIL_INVALID_ARGUMENT, "%s: %s %" PRId64 " is not %s's %" PRId64, name, axis, extent, other_name,
                 other);
}

/// The tensors one by one, then against one another.
tril_status check_shapes(const planning::problem& p) noexcept {
  struct {
    const char* name;
    const tril_layout& layout;
    access how;
    bool present;
  } const tensors[] = {{"q", p.q, access::read, true},
                       {"k", p.k, access::read, true},
                       {"v", p.v, access::read, true},
                       {"out", p.out, access::write, true},
                       {"lse", p.lse, access::write, p.with_lse}};
  for (const auto& t : tensors) {
    if (!t.present) continue;
    if (const tril_status s = check_layout(t.name, t.layout, t.how); s.code != TRIL_OK) return s;
    if (t.layout.dtype != TRIL_F32) return failure(TRIL_INVALID_ARGUMENT, "%s: dtype must be float32", t.name);
    if (const tril_status s = check_equal(t.name, "batch", t.layout.extents[0], "q", p.q.extents[0]); s.code != TRIL_OK)
      return s;
  }
  const std::int64_t *q = p.q.extents, *k = p.k.extents, *v = p.v.extents, *out = p.out.extents, *lse = p.lse.extents;
  const auto first_failure = [](std::initializer_list<tril_status> checks) {
    for (const tril_status& s : checks)
      if (s.code != TRIL_OK) return s;
    return ok();
  };
  if (const tril_status s =
          first_failure({check_equal("k", "dim", k[3], "q", q[3]), check_equal("v", "tokens", v[1], "k", k[1]),
                         check_equal("v", "heads", v[2], "k", k[2]), check_equal("out", "tokens", out[1], "q", q[1]),
                         check_equal("out", "heads", out[2], "q", q[2]), check_equal("out", "dim", out[3], "v", v[3])});
      s.code != TRIL_OK)
    return s;
  if (q[2] % k[2] != 0)
    return failure(TRIL_INVALID_ARGUMENT, "k: %" PRId64 " heads do not divide q's %" PRId64, k[2], q[2]);
  if (p.with_lse)
    if (const tril_status s = first_failure({check_equal("lse", "tokens", lse[1], "q", q[1]),
                                             check_equal("lse", "heads", lse[2], "q", q[2]),
                                             check_equal("lse", "dim", lse[3], "a single value", 1)});
        s.code != TRIL_OK)
      return s;

  std::int64_t flops = 2 * (q[3] + v[3]);
  for (const std::int64_t factor : {q[0], q[1], q[2], k[1]})
    if (factor != 0 && __builtin_mul_overflow(flops, factor, &flops))
      return failure(TRIL_INVALID_ARGUMENT, "q: rows times k's keys overflow 64 bits");
  if (q[0] * q[1] * q[2] > max_rows) return failure(TRIL_INVALID_ARGUMENT, "q: more than 2^34 rows over all heads");
  if (q[0] * k[2] > max_units) return failure(TRIL_INVALID_ARGUMENT, "k: more than 2^30 heads over all sequences");
  return ok();
}

/// One value per sequence, from an array that may be missing.
tril_status check_lengths(const char* name, const std::int32_t* lengths, std::int64_t batch,
                          std::int64_t extent) noexcept {
  for (std::int64_t i = 0; lengths != nullptr && i < batch; ++i)
    if (lengths[i] < 0 || lengths[i] > extent)
      return failure(TRIL_INVALID_ARGUMENT, "%s[%" PRId64 "]: %d is not in 0 ... %" PRId64, name, i, lengths[i],
                     extent);
  return ok();
}

tril_status check_window(const char* name, std::int64_t bound, std::int64_t& checked) noexcept {
  if (bound < planning::window::unbounded)
    return failure(TRIL_INVALID_ARGUMENT, "%s: %" PRId64 " is below -1", name, bound);
  checked = bound >= max_window ? planning::window::unbounded : bound;  // no position is that far
  return ok();
}

}  // namespace

tril_status check_args(const tril_attention_args* callers, planning::problem& p) {
  tril_attention_args args = TRIL_ATTENTION_ARGS_INIT;
  tril_kv_layout kv = TRIL_KV_LAYOUT_INIT;
  if (const tril_status s = read_sized(callers, "args", offsetof(tril_attention_args, q_lengths), args);
      s.code != TRIL_OK)
    return s;
  if (const tril_status s = read_sized(args.kv, "kv", offsetof(tril_kv_layout, lengths), kv); s.code != TRIL_OK)
    return s;
  if ((args.flags & ~known_flags) != 0)
    return failure(TRIL_UNSUPPORTED, "flags: 0x%x has bits that this library does not know", args.flags);

  p.q = args.q;
  p.k = kv.k;
  p.v = kv.v;
  p.out = args.out;
  p.lse = args.lse;
  p.with_lse = !is_absent(args.lse);
  if (const tril_status s = check_shapes(p); s.code != TRIL_OK) return s;
  p.q_heads = p.q.extents[2];
  p.kv_heads = p.k.extents[2];
  p.dim = p.q.extents[3];
  p.value_dim = p.v.extents[3];

  if ((args.flags & TRIL_SCALE_SET) != 0) {
    if (!std::isfinite(args.scale)) return failure(TRIL_INVALID_ARGUMENT, "scale: not a finite number");
    p.scale = args.scale;
  } else {
    p.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(p.dim)));
  }
  if (const tril_status s = check_window("window_left", args.window_left, p.window.left); s.code != TRIL_OK) return s;
  if (const tril_status s = check_window("window_right", args.window_right, p.window.right); s.code != TRIL_OK)
    return s;
  if ((args.flags & TRIL_FULL) == 0) p.window.right = 0;

  const std::int64_t batch = p.q.extents[0], rows = p.q.extents[1], keys = p.k.extents[1];
  if (const tril_status s = check_lengths("q_lengths", args.q_lengths, batch, rows); s.code != TRIL_OK) return s;
  if (const tril_status s = check_lengths("kv_lengths", kv.lengths, batch, keys); s.code != TRIL_OK) return s;
  p.sequences.clear();
  p.sequences.reserve(static_cast<std::size_t>(batch));
  for (std::int64_t i = 0; i < batch; ++i) {
    planning::sequence s{args.q_lengths ? args.q_lengths[i] : rows, kv.lengths ? kv.lengths[i] : keys, 0};
    s.first_position = args.query_offset ? args.query_offset[i] : s.keys - s.rows;
    p.sequences.push_back(s);
  }
  return ok();
}

tril_status check_data(const planning::problem& p, const tril_attention_data& data,
                       std::size_t workspace_bytes) noexcept {
  const placed inputs[] = {{"q", data.q, &p.q}, {"k", data.k, &p.k}, {"v", data.v, &p.v}};
  const placed out = {"out", data.out, &p.out}, lse = {"lse", data.lse, &p.lse};
  for (const placed& t : {inputs[0], inputs[1], inputs[2], out})
    if (const tril_status s = check_pointer(t.name, *t.layout, t.data); s.code != TRIL_OK) return s;
  if (!p.with_lse && data.lse != nullptr) return failure(TRIL_INVALID_ARGUMENT, "lse: given, but its layout is not");
  if (p.with_lse)
    if (const tril_status s = check_pointer("lse", p.lse, data.lse); s.code != TRIL_OK) return s;

  for (const placed& in : inputs) {
    if (const tril_status s = check_disjoint(out, in); s.code != TRIL_OK) return s;
    if (p.with_lse)
      if (const tril_status s = check_disjoint(lse, in); s.code != TRIL_OK) return s;
  }
  if (p.with_lse)
    if (const tril_status s = check_disjoint(lse, out); s.code != TRIL_OK) return s;

  if (data.workspace == nullptr) return ok();
  if (reinterpret_cast<std::uintptr_t>(data.workspace) % cache_line != 0)
    return failure(TRIL_INVALID_ARGUMENT, "workspace: not 64-byte aligned");
  if (data.workspace_bytes < workspace_bytes)
    return failure(TRIL_INVALID_ARGUMENT, "workspace: %zu bytes, needs %zu", data.workspace_bytes, workspace_bytes);
  for (const placed& t : {inputs[0], inputs[1], inputs[2], out, lse})
    if (t.data != nullptr)
      if (const tril_status s = check_disjoint(t, "workspace", data.workspace, workspace_bytes); s.code != TRIL_OK)
        return s;
  return ok();
}

}  // namespace tril::api
