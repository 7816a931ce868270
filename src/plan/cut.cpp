#include "plan/cut.hpp"

#include <algorithm>

namespace tril::plan {
namespace {

constexpr std::int64_t pack_task_panels = 4 * contract::panels_per_split;

std::vector<unit> units_of(const problem& p) {
  std::vector<unit> units;
  for (std::size_t i = 0; i < p.sequences.size(); ++i) {
    const sequence& s = p.sequences[i];
    if (s.rows == 0) continue;
    const interval seen = visible_keys(p.window, s, 0, s.rows);
    const std::int64_t first_panel = seen.first / contract::panel_keys;
    const std::int64_t last_panel = (seen.last + contract::panel_keys - 1) / contract::panel_keys;
    const std::int64_t pairs = visible_pairs(p.window, s, 0, s.rows) * p.group();
    for (std::int64_t head = 0; head < p.kv_heads; ++head)
      units.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(head), first_panel,
                       seen.empty() ? 0 : last_panel - first_panel, pairs, true});
  }
  std::stable_sort(units.begin(), units.end(), [](const unit& a, const unit& b) { return a.pairs > b.pairs; });
  return units;
}

void add_tasks(wave& w, std::int32_t index, const unit& u, const problem& p, std::int32_t block_rows) {
  for (std::int64_t panel = 0; u.packed && panel < u.panels; panel += pack_task_panels)
    w.pack.push_back({index, panel, std::min(pack_task_panels, u.panels - panel)});

  // Rows of all heads of the group go together: they see the same keys, and share one stream of K and V.
  const sequence& s = p.sequences[static_cast<std::size_t>(u.sequence)];
  const std::int64_t heads = std::min<std::int64_t>(p.group(), block_rows);
  const std::int64_t rows = block_rows / heads;
  const std::size_t first = w.attend.size();
  for (std::int64_t row = 0; row < s.rows; row += rows)
    for (std::int64_t head = 0; head < p.group(); head += heads)
      w.attend.push_back({index, static_cast<std::int32_t>(head),
                          static_cast<std::int32_t>(std::min(heads, p.group() - head)), row,
                          std::min(rows, s.rows - row)});
  const auto pairs = [&](const attend_task& t) {
    return visible_pairs(p.window, s, t.first_row, t.first_row + t.rows) * t.heads;
  };
  std::stable_sort(w.attend.begin() + static_cast<std::ptrdiff_t>(first), w.attend.end(),
                   [&](const attend_task& a, const attend_task& b) { return pairs(a) > pairs(b); });
}

}  // namespace

schedule cut(const problem& p, std::int32_t block_rows, std::int64_t panel_bytes, std::int64_t packed_bytes_cap) {
  schedule s{units_of(p), {}};
  std::int64_t packed = 0;
  for (std::size_t i = 0; i < s.units.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    s.units[i].packed = s.units[i].panels * panel_bytes <= packed_bytes_cap;
    const std::int64_t bytes = s.units[i].packed ? s.units[i].panels * panel_bytes : 0;
    if (s.waves.empty() || packed + bytes > packed_bytes_cap) {
      s.waves.push_back({index, index, {}, {}});
      packed = 0;
    }
    packed += bytes;
    s.waves.back().last_unit = index + 1;
    add_tasks(s.waves.back(), index, s.units[i], p, block_rows);
  }
  return s;
}

std::int64_t first_split(const unit& u) { return u.first_panel / contract::panels_per_split; }

std::int64_t split_count(const unit& u) {
  if (u.panels == 0) return 0;
  const std::int64_t last_panel = u.first_panel + u.panels;
  return (last_panel + contract::panels_per_split - 1) / contract::panels_per_split - first_split(u);
}

decode_schedule cut_decode(const problem& p, int workers, bool token_major) {
  constexpr std::int64_t tasks_per_worker = 4;  // enough to even out what threads get
  decode_schedule s{units_of(p), {}, {}, 0};
  std::int64_t all_splits = 0;
  for (const unit& u : s.units) all_splits += split_count(u);
  // Units of a sequence are neighbours: they cost the same, and the order of equals is kept.
  const std::int64_t together = token_major ? p.kv_heads : 1;
  const std::int64_t share = std::max<std::int64_t>(1, all_splits / (workers * tasks_per_worker * together));
  for (std::size_t i = 0; i < s.units.size(); i += static_cast<std::size_t>(together)) {
    const unit& u = s.units[i];
    const std::int64_t splits = split_count(u);
    const bool spread = together > 1 || (workers > 1 && splits > share);
    for (std::int64_t head = 0; head < together; ++head) {
      s.saved_states.push_back(spread ? s.states : -1);
      if (spread) s.states += splits;
    }
    const std::int64_t step = spread ? share : std::max<std::int64_t>(1, splits);
    for (std::int64_t split = 0; split == 0 || split < splits; split += step)  // a unit without keys is a task too
      s.tasks.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(together), first_split(u) + split,
                         std::min(step, splits - split)});
  }
  std::stable_sort(s.tasks.begin(), s.tasks.end(),
                   [](const decode_task& a, const decode_task& b) { return a.splits * a.units > b.splits * b.units; });
  return s;
}

}  // namespace tril::plan
