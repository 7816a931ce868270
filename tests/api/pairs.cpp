/// Scores of wholly hidden tiles are not computed. The test instruction sets count.

#include <string_view>

#include "isa/computed_pairs.hpp"
#include "reference/visible.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"
#include "tril/cost.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// Pairs in the tiles of tile_rows rows and 16 keys that hold a visible one.
std::int64_t pairs_of_visible_tiles(const workload& w, std::int64_t tile_rows) {
  const recipe& r = w.made_from();
  std::int64_t pairs = 0;
  for (std::int64_t sequence = 0; sequence < r.batch; ++sequence) {
    const reference::extent e = reference::sequence_extent(w.problem(), sequence);
    const auto seen = [&](std::int64_t first_row, std::int64_t first_key) {
      for (std::int64_t row = first_row; row < first_row + tile_rows; ++row)
        for (std::int64_t key = first_key; key < first_key + contract::panel_keys; ++key)
          if (reference::visible(w.problem(), e, row, key)) return true;
      return false;
    };
    for (std::int64_t row = 0; row < r.rows; row += tile_rows)
      for (std::int64_t key = 0; key < e.keys; key += contract::panel_keys)
        if (seen(row, key)) pairs += tile_rows * contract::panel_keys;
  }
  return pairs;
}

/// `rows` are whole tiles, those of one head: rows that a tile lacks would be computed too.
void check_pairs(const context& ctx, std::int64_t rows) {
  const contract::tile_sizes tiles = kernels_of(ctx).tiles;
  for (const std::int64_t keys : {1, 15, 16, 17, 100, 256, 257, 700})
    for (const std::int64_t left : {-1, 0, 10, 300})
      for (const std::vector<std::int32_t>& offset : std::vector<std::vector<std::int32_t>>{{}, {0, 5}, {-3, 90}}) {
        workload w({.batch = 2,
                    .rows = rows,
                    .keys = keys,
                    .window = {.left = left},
                    .kv_lengths = {static_cast<std::int32_t>(keys), static_cast<std::int32_t>(keys / 2)},
                    .query_offset = offset},
                   seed());
        const std::int64_t before = computed_pairs;
        require(w.run(ctx));
        const std::int64_t computed = computed_pairs - before, visible = cost_of(w.problem()).visible_pairs;
        INFO(w.text() << computed << " computed, " << visible << " visible");
        CHECK(computed >= visible);
        CHECK(computed <= pairs_of_visible_tiles(w, tiles.qk_rows));
        // Causal attention has one boundary that tiles lie across, a window on the left another.
        const std::int64_t boundaries = left == -1 ? 1 : 2;
        CHECK(computed - visible <= 2 * rows * (tiles.qk_rows + boundaries * tiles.qk_panels * contract::panel_keys));
      }
}

bool counts_pairs(const context& ctx) { return std::string_view(ctx.isa()).starts_with("test"); }

}  // namespace

TEST_CASE("Many rows: only tiles with a visible pair are computed") {
  const context ctx = context_under_test();
  if (!counts_pairs(ctx)) return;
  for (const std::int64_t blocks : {2, 5}) check_pairs(ctx, blocks * kernels_of(ctx).tiles.block_rows);
}

TEST_CASE("Few rows: only tiles with a visible pair are computed") {
  const context ctx = context_under_test();
  if (!counts_pairs(ctx)) return;
  const contract::tile_sizes tiles = kernels_of(ctx).tiles;
  for (const std::int64_t rows : {tiles.qk_rows, 2 * tiles.qk_rows}) check_pairs(ctx, rows);
}

TEST_CASE("One row computes whole panels of keys and nothing else") {
  const context ctx = context_under_test();
  if (!counts_pairs(ctx)) return;
  for (const std::int64_t keys : {1, 16, 17, 256, 1000}) {
    workload w({.rows = 1, .keys = keys}, seed());
    const std::int64_t before = computed_pairs;
    require(w.run(ctx));
    CHECK(computed_pairs - before == contract::round_up(keys, contract::panel_keys));
  }
}
