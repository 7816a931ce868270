#include "api/layout.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdlib>

#include "run/kv_address.hpp"

namespace tril::api {
namespace {

constexpr const char* axis_name[4] = {"batch", "tokens", "heads", "dim"};

/// Elements below and above element [0][0][0][0] that a tensor reaches.
struct reach {
  std::int64_t below = 0, above = 0;
};

bool reach_of(const tril_layout& l, reach& r) noexcept {
  for (int i = 0; i < 4; ++i) {
    if (l.extents[i] <= 1) continue;
    std::int64_t distance;
    if (__builtin_mul_overflow(l.extents[i] - 1, l.strides[i], &distance)) return false;
    std::int64_t& side = distance < 0 ? r.below : r.above;
    if (__builtin_add_overflow(side, distance, &side)) return false;
  }
  // Room for one more element and for the size of an element.
  constexpr std::int64_t limit = INT64_MAX / 16;
  return r.below > -limit && r.above < limit;
}

bool elements_overflow(const tril_layout& l) noexcept {
  std::int64_t bytes = run::element_bytes(l.dtype);
  for (const std::int64_t extent : l.extents)
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return true;
  return false;
}

/// Whether two index tuples may address one element. Exact for every layout in which some order of the axes
/// nests; a layout that interleaves without nesting counts as overlapping.
bool overlaps_itself(const tril_layout& l) noexcept {
  std::array<int, 4> axis = {0, 1, 2, 3};
  // The stride of an axis of one may be any number, of which there need not be a magnitude.
  const auto step = [&](int i) { return l.extents[i] > 1 ? std::abs(l.strides[i]) : 0; };
  std::sort(axis.begin(), axis.end(), [&](int a, int b) { return step(a) < step(b); });
  std::int64_t inner = 0;  // reach of the axes with smaller steps; cannot overflow, reach_of has added it up
  for (const int i : axis) {
    if (l.extents[i] <= 1) continue;
    if (step(i) <= inner) return true;
    inner += (l.extents[i] - 1) * step(i);
  }
  return false;
}

struct byte_range {
  std::intptr_t first, last;  // last is one behind
  bool meets(const byte_range& other) const { return first < other.last && other.first < last; }
};

byte_range range_of(const placed& t) noexcept {
  reach r;
  reach_of(*t.layout, r);
  const std::int64_t bytes = run::element_bytes(t.layout->dtype);
  const auto base = reinterpret_cast<std::intptr_t>(t.data);
  return {base + r.below * bytes, base + (r.above + 1) * bytes};
}

/// Two tensors that interleave: both repeat with the same token stride (heads of one fused buffer), and
/// within that period their heads lie apart.
bool interleave(const placed& a, const placed& b) noexcept {
  const tril_layout &la = *a.layout, &lb = *b.layout;
  const std::int64_t bytes = run::element_bytes(la.dtype);
  const std::int64_t period = la.strides[1] * bytes;
  if (la.extents[0] > 1 || lb.extents[0] > 1 || la.dtype != lb.dtype || la.strides[1] != lb.strides[1] || period <= 0)
    return false;
  const auto within = [&](const placed& t) {  // the bytes of token 0
    tril_layout token = *t.layout;
    token.extents[1] = 1;
    return range_of({t.name, t.data, &token});
  };
  const byte_range ra = within(a), rb = within(b);
  const std::intptr_t shift = (rb.first - ra.first) % period;
  const std::intptr_t gap = shift < 0 ? shift + period : shift;  // from the start of a's heads to b's
  return gap >= ra.last - ra.first && gap + (rb.last - rb.first) <= period;
}

}  // namespace

bool is_empty(const tril_layout& l) noexcept {
  return std::any_of(std::begin(l.extents), std::end(l.extents), [](std::int64_t extent) { return extent == 0; });
}

tril_status check_layout(const char* name, const tril_layout& l, access how, std::int64_t max_dim) noexcept {
  if (run::element_bytes(l.dtype) == 0) return failure(TRIL_INVALID_ARGUMENT, "%s: unknown dtype %d", name, l.dtype);
  if (l.reserved != 0) return failure(TRIL_INVALID_ARGUMENT, "%s: its reserved field is not 0", name);
  for (int i = 0; i < 4; ++i) {
    const std::int64_t least = i < 2 ? 0 : 1;  // no sequence or no token is fine, no head or dim is not
    if (l.extents[i] < least)
      return failure(TRIL_INVALID_ARGUMENT, "%s: %s is %" PRId64 ", must be at least %" PRId64, name, axis_name[i],
                     l.extents[i], least);
  }
  if (l.extents[3] > max_dim)
    return failure(TRIL_INVALID_ARGUMENT, "%s: dim %" PRId64 " is over %" PRId64, name, l.extents[3], max_dim);
  if (l.extents[3] > 1 && l.strides[3] != 1)
    return failure(TRIL_INVALID_ARGUMENT, "%s: its innermost stride is %" PRId64 ", must be 1", name, l.strides[3]);
  reach r;
  if (elements_overflow(l) || (!is_empty(l) && !reach_of(l, r)))
    return failure(TRIL_INVALID_ARGUMENT, "%s: its size overflows 64 bits", name);
  if (how == access::write && !is_empty(l) && overlaps_itself(l))
    return failure(TRIL_INVALID_ARGUMENT, "%s: its strides make it overlap itself", name);
  return ok();
}

tril_status check_pointer(const char* name, const tril_layout& l, const void* data) noexcept {
  if (is_empty(l)) return ok();
  if (data == nullptr) return failure(TRIL_INVALID_ARGUMENT, "%s: null", name);
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(run::element_bytes(l.dtype)) != 0)
    return failure(TRIL_INVALID_ARGUMENT, "%s: not aligned to its elements", name);
  return ok();
}

tril_status check_disjoint(const placed& output, const placed& other) noexcept {
  if (is_empty(*output.layout) || is_empty(*other.layout)) return ok();
  if (range_of(output).meets(range_of(other)) && !interleave(output, other))
    return failure(TRIL_INVALID_ARGUMENT, "%s: overlaps %s", output.name, other.name);
  return ok();
}

tril_status check_disjoint(const placed& tensor, const char* name, const void* data, std::size_t bytes) noexcept {
  if (is_empty(*tensor.layout) || bytes == 0) return ok();
  const auto first = reinterpret_cast<std::intptr_t>(data);
  if (range_of(tensor).meets({first, first + static_cast<std::intptr_t>(bytes)}))
    return failure(TRIL_INVALID_ARGUMENT, "%s: overlaps %s", name, tensor.name);
  return ok();
}

}  // namespace tril::api
