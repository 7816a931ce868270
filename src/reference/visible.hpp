#pragma once

#include <cstdint>

#include "tril/plan.hpp"

namespace tril::reference {

/// One sequence of a problem, with its own lengths.
struct extent {
  std::int64_t rows, keys, first_position;
};

inline extent sequence_extent(const problem& p, std::int64_t sequence) {
  const auto i = static_cast<std::size_t>(sequence);
  const visibility& v = p.visibility;
  const std::int64_t rows = v.q_lengths.empty() ? p.q.extents[1] : v.q_lengths[i];
  const std::int64_t keys = p.kv.lengths.empty() ? p.kv.k.extents[1] : p.kv.lengths[i];
  return {rows, keys, v.query_offset.empty() ? keys - rows : v.query_offset[i]};
}

/// Whether row i of a sequence sees key j: the predicate that every mask means.
inline bool visible(const problem& p, const extent& e, std::int64_t i, std::int64_t j) {
  const std::int64_t position = e.first_position + i;
  const auto [left, right] = p.visibility.window;
  if (j < 0 || j >= e.keys) return false;
  if (p.visibility.causal && j > position) return false;
  if (left != -1 && position - j > left) return false;
  if (right != -1 && j - position > right) return false;
  return true;
}

}  // namespace tril::reference
