#include "reference/row.hpp"

#include <cmath>

namespace tril::reference {

row row_of(const problem& p, const run_data& data, std::int64_t sequence, std::int64_t i, std::int64_t head) {
  const extent e = sequence_extent(p, sequence);
  const std::int64_t kv_head = head / (p.q.extents[2] / p.kv.k.extents[2]);
  const auto at = [&](const void* tensor, const layout& l, std::int64_t token, std::int64_t h) {
    const auto* first = static_cast<const float*>(tensor);
    return first ? first + offset_of(l, sequence, token, h) : nullptr;  // null is fine where there are no keys
  };
  const double root = std::sqrt(static_cast<double>(p.q.extents[3]));
  row r = {
      .q = at(data.q, p.q, i, head),
      .k = {at(data.kv.k, p.kv.k, 0, kv_head), p.kv.k.strides[1]},
      .v = {at(data.kv.v, p.kv.v, 0, kv_head), p.kv.v.strides[1]},
      .dim = p.q.extents[3],
      .value_dim = p.kv.v.extents[3],
      .keys = e.keys,
      .position = e.first_position + i,
      .visible = {},
      .scale = p.scale.value_or(static_cast<float>(1.0 / root)),
  };
  for (std::int64_t j = 0; j < e.keys; ++j) {
    if (!visible(p, e, i, j)) continue;
    if (r.visible.empty() || r.visible.back().last != j) r.visible.push_back({j, j});
    r.visible.back().last = j + 1;
  }
  return r;
}

}  // namespace tril::reference
