#pragma once

/// What is visible to whom: the only place that knows causal, window and lengths. Everything downstream sees
/// intervals of keys, full panels, and 16-bit masks.

#include <cstdint>
#include <span>

#include "contract/layout.hpp"
#include "plan/problem.hpp"

namespace tril::planning {

/// Keys first ... last - 1 of a sequence; empty if first == last.
struct interval {
  std::int64_t first = 0;
  std::int64_t last = 0;

  bool empty() const { return first == last; }
  std::int64_t size() const { return last - first; }
};

/// The keys that the row at `position` of a sequence of `keys` keys sees.
interval visible_keys(const window& w, std::int64_t position, std::int64_t keys);

/// The smallest interval that holds what rows first ... last - 1 of a sequence see.
interval visible_keys(const window& w, const sequence& s, std::int64_t first, std::int64_t last);

/// The number of (row, key) pairs that rows first ... last - 1 of a sequence see.
std::int64_t visible_pairs(const window& w, const sequence& s, std::int64_t first, std::int64_t last);

/// How the rows of a block see one split, panel by panel.
struct split_view {
  struct panel {
    std::int32_t slot;  // place in the split
    bool full;          // every row sees all 16 keys; else masks say who sees what
  };
  panel panels[contract::panels_per_split];  // those that some row sees, ascending
  std::int32_t count = 0;
};

/// Looks at split `split` of a sequence through rows with the given intervals. masks[slot * rows.size() + row]
/// is written for every panel that is not full.
split_view view_split(std::span<const interval> rows, std::int64_t split, std::uint16_t* masks);

}  // namespace tril::planning
