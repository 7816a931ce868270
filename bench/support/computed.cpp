#include "support/computed.hpp"

#include <algorithm>
#include <vector>

#include "api/validate.hpp"
#include "plan/cut.hpp"

namespace tril::bench {
namespace {

/// Pairs of one block against one split: a tile of rows computes every panel that one of its rows sees.
std::int64_t computed_pairs(const planning::split_view& view, const std::vector<std::uint16_t>& masks, std::size_t rows,
                            std::size_t tile_rows) {
  std::int64_t pairs = 0;
  for (int i = 0; i < view.count; ++i)
    for (std::size_t first = 0; first < rows; first += tile_rows) {
      const std::uint16_t* mask = masks.data() + static_cast<std::size_t>(view.panels[i].slot) * rows;
      const bool seen = view.panels[i].full || std::any_of(mask + first, mask + std::min(rows, first + tile_rows),
                                                           [](std::uint16_t m) { return m != 0; });
      if (seen) pairs += static_cast<std::int64_t>(tile_rows) * contract::panel_keys;
    }
  return pairs;
}

}  // namespace

double computed_over_visible(const tril_attention_args& args, const contract::kernel_table& kernels) {
  planning::problem p;
  if (api::check_args(&args, p).code != TRIL_OK) return 0;
  const planning::schedule schedule = planning::cut(p, {.block_rows = kernels.tiles.block_rows,
                                                        .panel_bytes = 0,
                                                        .state_bytes = 0,
                                                        .cached = 0,
                                                        .least_tasks = 0,
                                                        .cap = 0});
  std::int64_t computed = 0, visible = 0;
  for (const planning::wave& w : schedule.waves)
    for (const planning::attend_task& t : w.attend) {
      const planning::sequence& s =
          p.sequences[static_cast<std::size_t>(schedule.units[static_cast<std::size_t>(t.unit)].sequence)];
      std::vector<planning::interval> rows;
      for (std::int64_t row = t.first_row; row < t.first_row + t.rows; ++row)
        rows.insert(rows.end(), static_cast<std::size_t>(t.heads),
                    planning::visible_keys(p.window, s.first_position + row, s.keys));
      std::vector<std::uint16_t> masks(rows.size() * contract::panels_per_split);
      for (const planning::interval& row : rows) visible += row.size();
      const planning::interval any = planning::visible_keys(p.window, s, t.first_row, t.first_row + t.rows);
      for (std::int64_t split = any.first / contract::split_keys; split * contract::split_keys < any.last; ++split)
        computed += computed_pairs(planning::view_split(rows, split, masks.data()), masks, rows.size(),
                                   static_cast<std::size_t>(kernels.tiles.qk_rows));
    }
  return static_cast<double>(computed) / static_cast<double>(visible);
}

}  // namespace tril::bench
