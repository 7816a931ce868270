#include "plan/cut.hpp"

#include <algorithm>

namespace tril::planning {
namespace {

constexpr std::int64_t pack_task_panels = 4 * contract::panels_per_split;  // over all heads

/// A unit with more than this share of the cap goes in rounds, with the other heads of its sequence: by itself it would
/// leave a wave few tasks.
constexpr std::int64_t share_of_cap = 4;
/// As much of the cap is for the states of a band, so that its rows are many for each time that their keys are packed.
constexpr std::int64_t states_share = 4;
/// Heads go together as long as a round has so many splits: enough to hide what a round costs each block of rows.
constexpr std::int64_t round_splits = 8;

/// Panels first ... last - 1 that rows first ... last - 1 of a sequence see.
interval visible_panels(const problem& p, const sequence& s, std::int64_t first_row, std::int64_t last_row) {
  const interval seen = visible_keys(p.window, s, first_row, last_row);
  const std::int64_t first = seen.first / contract::panel_keys;
  return {first, seen.empty() ? first : (seen.last + contract::panel_keys - 1) / contract::panel_keys};
}

/// All rows of each head, heaviest first; the heads of a sequence are neighbours.
std::vector<unit> units_of(const problem& p) {
  std::vector<unit> units;
  for (std::size_t i = 0; i < p.sequences.size(); ++i) {
    const sequence& s = p.sequences[i];
    if (s.rows == 0) continue;
    const interval panels = visible_panels(p, s, 0, s.rows);
    const std::int64_t pairs = visible_pairs(p.window, s, 0, s.rows) * p.group();
    for (std::int64_t head = 0; head < p.kv_heads; ++head)
      units.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(head), 0, s.rows, panels.first,
                       panels.size(), pairs});
  }
  std::stable_sort(units.begin(), units.end(), [](const unit& a, const unit& b) { return a.pairs > b.pairs; });
  return units;
}

/// Rows of all heads of the group go together: they see the same keys, and share one stream of K and V.
std::int64_t block_heads(const problem& p, std::int32_t block_rows) {
  return std::min<std::int64_t>(p.group(), block_rows);
}
std::int64_t block_tokens(const problem& p, std::int32_t block_rows) { return block_rows / block_heads(p, block_rows); }

wave& begin_wave(schedule& s) {
  const auto first = static_cast<std::int32_t>(s.units.size());
  return s.waves.emplace_back(wave{first, first});
}

/// To the last wave.
void add_unit(schedule& to, const unit& u, const problem& p, std::int32_t block_rows) {
  wave& w = to.waves.back();
  const std::int32_t index = w.last_unit++;
  to.units.push_back(u);
  const sequence& s = p.sequences[static_cast<std::size_t>(u.sequence)];
  const std::int64_t heads = block_heads(p, block_rows), rows = block_tokens(p, block_rows);
  const std::int64_t last_row = u.first_row + u.rows;
  const std::size_t first = w.attend.size();
  for (std::int64_t row = u.first_row; row < last_row; row += rows)
    for (std::int64_t head = 0; head < p.group(); head += heads)
      w.attend.push_back({index, static_cast<std::int32_t>(head),
                          static_cast<std::int32_t>(std::min(heads, p.group() - head)), row,
                          std::min(rows, last_row - row)});
  const auto pairs = [&](const attend_task& t) {
    return visible_pairs(p.window, s, t.first_row, t.first_row + t.rows) * t.heads;
  };
  std::stable_sort(w.attend.begin() + static_cast<std::ptrdiff_t>(first), w.attend.end(),
                   [&](const attend_task& a, const attend_task& b) { return pairs(a) > pairs(b); });
}

std::int64_t start_of_split(std::int64_t panel) {
  return panel / contract::panels_per_split * contract::panels_per_split;
}

/// A sequence too long for its heads to be packed whole: a wave for each band of rows and some heads, in rounds.
void add_rounds(schedule& to, std::int32_t sequence_index, const problem& p, const prefill_sizes& sizes) {
  const sequence& s = p.sequences[static_cast<std::size_t>(sequence_index)];
  const std::int64_t split_bytes = contract::panels_per_split * sizes.panel_bytes;
  const std::int64_t states_bytes = sizes.cap / states_share, panels_bytes = sizes.cap - states_bytes;
  const std::int64_t heads = std::clamp<std::int64_t>(panels_bytes / (round_splits * split_bytes), 1, p.kv_heads);
  const std::int64_t round =
      contract::panels_per_split * std::max<std::int64_t>(1, panels_bytes / (heads * split_bytes));
  const std::int64_t block = block_tokens(p, sizes.block_rows);
  const std::int64_t block_bytes = heads * p.group() * block * sizes.state_bytes;
  const std::int64_t band = block * std::max<std::int64_t>(1, states_bytes / block_bytes);
  for (std::int64_t row = 0; row < s.rows; row += band) {
    const std::int64_t rows = std::min(band, s.rows - row);
    const interval panels = visible_panels(p, s, row, row + rows);
    const std::int64_t pairs = visible_pairs(p.window, s, row, row + rows) * p.group();
    for (std::int64_t first_head = 0; first_head < p.kv_heads; first_head += heads) {
      wave& w = begin_wave(to);
      w.round_panels = round;
      w.rounds = std::max<std::int64_t>(1, (panels.last - start_of_split(panels.first) + round - 1) / round);
      for (std::int64_t head = first_head; head < std::min(first_head + heads, p.kv_heads); ++head)
        add_unit(to, {sequence_index, static_cast<std::int32_t>(head), row, rows, panels.first, panels.size(), pairs},
                 p, sizes.block_rows);
    }
  }
}

/// Heads of a sequence go together, panel by panel: the heads of a token usually lie one after another.
void add_pack_tasks(const std::vector<unit>& units, wave& w) {
  for (std::int32_t first = w.first_unit, last = first; first < w.last_unit; first = last) {
    const unit& u = units[static_cast<std::size_t>(first)];
    while (last < w.last_unit && units[static_cast<std::size_t>(last)].sequence == u.sequence) ++last;
    const std::int64_t at_once = w.rounds > 1 ? w.round_panels : u.panels;
    const std::int64_t panels = std::max<std::int64_t>(1, pack_task_panels / (last - first));
    for (std::int64_t panel = 0; panel < at_once; panel += panels)
      w.pack.push_back({first, last - first, panel, std::min(panels, at_once - panel)});
  }
}

}  // namespace

schedule cut(const problem& p, const prefill_sizes& sizes) {
  schedule s;
  std::int64_t packed = 0;  // by the last wave
  const std::vector<unit> units = units_of(p);
  for (auto u = units.begin(); u != units.end();) {
    // By division, as the bytes may overflow.
    if (sizes.panel_bytes > 0 && u->panels > sizes.cap / share_of_cap / sizes.panel_bytes) {
      add_rounds(s, u->sequence, p, sizes);
      u += p.kv_heads;
      packed = sizes.cap;
      continue;
    }
    const std::int64_t bytes = u->panels * sizes.panel_bytes;
    const auto tasks = s.waves.empty() ? 0 : static_cast<std::int64_t>(s.waves.back().attend.size());
    const bool enough = packed + bytes > sizes.cached && tasks >= sizes.least_tasks;
    if (s.waves.empty() || s.waves.back().rounds > 1 || enough || packed + bytes > sizes.cap) {
      begin_wave(s);
      packed = 0;
    }
    packed += bytes;
    add_unit(s, *u++, p, sizes.block_rows);
  }
  for (wave& w : s.waves) add_pack_tasks(s.units, w);
  return s;
}

interval panels_in_round(const wave& w, const unit& u, std::int64_t round) {
  const interval all{u.first_panel, u.first_panel + u.panels};
  if (w.rounds == 1) return all;
  const std::int64_t first = start_of_split(all.first) + round * w.round_panels;
  return {std::max(all.first, first), std::min(all.last, first + w.round_panels)};
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

}  // namespace tril::planning
