/// Scores of wholly hidden tiles are not computed. The test instruction sets count.

#include <string_view>

#include "isa/computed_pairs.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"
#include "tril/cost.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// Scores computed beyond the visible ones, per row and boundary: causal attention has one boundary, a window on the
/// left another.
void check_pairs(const context& ctx, const recipe& r) {
  workload w(r, seed());
  const std::int64_t before = computed_pairs;
  require(w.run(ctx));
  const std::int64_t computed = computed_pairs - before;
  const cost c = cost_of(w.problem());
  const contract::tile_sizes tiles = kernels_of(ctx).tiles;
  const std::int64_t boundaries = r.window.left == -1 ? 1 : 2;
  INFO(w.text() << computed << " computed, " << c.visible_pairs << " visible");
  const std::int64_t row_count = r.batch * r.rows * r.q_heads;
  CHECK(computed >= c.visible_pairs);
  CHECK(computed - c.visible_pairs <=
        row_count * (tiles.qk_rows + boundaries * tiles.qk_panels * contract::panel_keys));
}

}  // namespace

TEST_CASE("Few pairs beyond the visible ones are computed") {
  const context ctx = context_under_test();
  if (!std::string_view(ctx.isa()).starts_with("test")) return;
  const contract::tile_sizes tiles = kernels_of(ctx).tiles;
  // Whole tiles: rows that a tile lacks are computed too.
  for (const std::int64_t rows : {tiles.qk_rows, tiles.block_rows, 5 * tiles.block_rows})
    for (const std::int64_t keys : {1, 15, 16, 17, 100, 256, 257, 700})
      for (const std::int64_t left : {-1, 0, 10, 300}) {
        check_pairs(ctx, {.rows = rows, .keys = keys, .window = {.left = left}});
        check_pairs(ctx, {.rows = rows, .keys = keys, .window = {.left = left}, .query_offset = {0}});
        check_pairs(ctx, {.batch = 2,
                          .rows = rows,
                          .keys = keys,
                          .q_heads = 3,
                          .window = {.left = left},
                          .kv_lengths = {0, static_cast<std::int32_t>(keys / 2)}});
      }
  // One row: the smallest tile.
  for (const std::int64_t keys : {1, 16, 17, 256, 1000}) check_pairs(ctx, {.rows = 1, .keys = keys});
}
