#include "plan/visible.hpp"

#include <algorithm>

namespace tril::planning {
namespace {

/// Sum over i in [0, count) of clamp(first + i, 0, limit).
std::int64_t sum_of_ramp(std::int64_t first, std::int64_t count, std::int64_t limit) {
  const std::int64_t begin = std::clamp<std::int64_t>(-first, 0, count);           // where it leaves 0
  const std::int64_t end = std::clamp<std::int64_t>(limit - first, begin, count);  // where it reaches limit
  const std::int64_t ramp = end - begin;
  return ramp * (first + begin) + ramp * (ramp - 1) / 2 + (count - end) * limit;
}

/// Bits of the keys of a panel starting at key `first` that lie in an interval.
std::uint16_t panel_mask(const interval& keys, std::int64_t first) {
  const auto below = [first](std::int64_t key) {  // bits of the keys before `key`
    const std::int64_t bits = std::clamp<std::int64_t>(key - first, 0, contract::panel_keys);
    return (std::uint32_t{1} << bits) - 1;
  };
  return static_cast<std::uint16_t>(below(keys.last) & ~below(keys.first));
}

}  // namespace

interval visible_keys(const window& w, std::int64_t position, std::int64_t keys) {
  interval seen{0, keys};
  if (w.left != window::unbounded) seen.first = std::clamp<std::int64_t>(position - w.left, 0, keys);
  if (w.right != window::unbounded) seen.last = std::clamp<std::int64_t>(position + w.right + 1, seen.first, keys);
  return seen;
}

interval visible_keys(const window& w, const sequence& s, std::int64_t first, std::int64_t last) {
  // Both ends of a row's interval move forward from row to row.
  interval seen{visible_keys(w, s.first_position + first, s.keys).first,
                visible_keys(w, s.first_position + last - 1, s.keys).last};
  seen.last = std::max(seen.first, seen.last);
  return seen;
}

std::int64_t visible_pairs(const window& w, const sequence& s, std::int64_t first, std::int64_t last) {
  const std::int64_t position = s.first_position + first, rows = last - first;
  const std::int64_t ends =
      w.right == window::unbounded ? rows * s.keys : sum_of_ramp(position + w.right + 1, rows, s.keys);
  const std::int64_t begins = w.left == window::unbounded ? 0 : sum_of_ramp(position - w.left, rows, s.keys);
  return ends - begins;
}

split_view view_split(std::span<const interval> rows, std::int64_t split, std::uint16_t* masks) {
  split_view view;
  interval every{0, INT64_MAX};  // seen by every row
  interval some{INT64_MAX, 0};   // holds what some row sees
  for (const interval& row : rows) {
    every.first = std::max(every.first, row.first);
    every.last = std::min(every.last, row.last);
    if (row.empty()) continue;
    some.first = std::min(some.first, row.first);
    some.last = std::max(some.last, row.last);
  }
  for (int slot = 0; slot < contract::panels_per_split; ++slot) {
    const std::int64_t first = split * contract::split_keys + slot * contract::panel_keys;
    const std::int64_t last = first + contract::panel_keys;
    if (last <= some.first || first >= some.last) continue;
    const bool full = every.first <= first && last <= every.last;
    if (!full) {
      unsigned any = 0;
      for (std::size_t row = 0; row < rows.size(); ++row)
        any |= masks[static_cast<std::size_t>(slot) * rows.size() + row] = panel_mask(rows[row], first);
      if (!any) continue;
    }
    view.panels[view.count++] = {slot, full};
  }
  return view;
}

}  // namespace tril::planning
