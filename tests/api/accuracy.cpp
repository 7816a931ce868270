/// The bits of the canonical order and the error of the definition, over shapes, values and everything at random.

#include <algorithm>

#include "support/require.hpp"
#include "support/shapes.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

TEST_CASE("Every dim and value_dim up to 130, and different ones") {
  const context ctx = context_under_test();
  const std::int64_t all_keys[] = {1, 2, 7, 15, 16, 17, 31, 33, 63, 65};
  for (std::int64_t dim = 1; dim <= 130; ++dim)
    for (const std::int64_t rows : {1, 3, 23}) {
      recipe r = {.rows = rows,
                  .keys = all_keys[(dim + rows) % std::ssize(all_keys)],
                  .dim = dim,
                  .value_dim = 131 - dim,
                  .causal = rows > 1};
      // What multiplying by 1 / sqrt(1) twice would not show.
      if (dim % 3 == 1) r.scale = 0.7f;
      for (storage* how : {&r.q_storage, &r.k_storage, &r.v_storage, &r.out_storage, &r.lse_storage})
        how->where = dim % 2 == 0 ? touching::end : touching::start;
      workload w(r, derived_seed(seed(), static_cast<std::uint32_t>(dim)));
      require(verify(ctx, w));
    }
}

TEST_CASE("Large dim and value_dim") {
  const context ctx = context_under_test();
  const struct {
    std::int64_t dim, value_dim;
  } cases[] = {{160, 1024}, {192, 128}, {255, 257}, {576, 512}, {1024, 1}, {1, 1024}, {1023, 33}, {1024, 1024}};
  for (const auto& c : cases)
    for (const std::int64_t rows : {2, 18}) {
      workload w({.rows = rows, .keys = 35, .q_heads = 2, .dim = c.dim, .value_dim = c.value_dim}, seed());
      require(verify(ctx, w));
    }
}

TEST_CASE("Rows and keys around the tiles of the kernels, panels and splits") {
  const context ctx = context_under_test();
  const contract::tile_sizes tiles = kernels_of(ctx).tiles;
  std::vector<std::int64_t> all_rows = around(tiles.block_rows);
  for (const std::int64_t rows : around(tiles.qk_rows)) all_rows.push_back(rows);
  std::vector<std::int64_t> all_keys = around(contract::panel_keys * tiles.qk_panels);
  for (const std::int64_t keys : around(contract::split_keys)) all_keys.push_back(keys);
  for (const std::int64_t rows : all_rows)
    for (const std::int64_t keys : all_keys) {
      workload w({.rows = rows, .keys = keys, .dim = 6, .value_dim = 17}, seed());
      require(verify(ctx, w));
    }
}

TEST_CASE("Values of every kind") {
  const context ctx = context_under_test();
  for (const values scores : all_values)
    for (const values kind : all_values)
      for (const std::int64_t rows : {2, 25}) {
        // A NaN or an infinity in 1 of 64 elements leaves some rows without one.
        recipe r = {.rows = rows, .keys = 40, .q_heads = 2, .dim = 8, .value_dim = 10, .q = scores, .v = kind};
        r.k = is_finite(scores) ? scores : values::uniform;
        workload w(r, seed());
        require(verify(ctx, w));
      }
}

TEST_CASE("Everything at random") {
  const context ctx = context_under_test();
  for (std::uint32_t i = 0; i < 400; ++i) {
    const std::uint32_t own_seed = derived_seed(seed(), i);
    workload w(random_recipe(own_seed), own_seed);
    require(verify(ctx, w));
  }
}

TEST_CASE("Errors are those of float32: within the bound but not far below it, and no larger than a plain loop's") {
  const context ctx = context_under_test();
  for (const values kind : {values::uniform, values::lognormal, values::sorted, values::alternating})
    for (const std::int64_t dim : {1, 64})
      for (const std::int64_t keys : {20, 600}) {
        error_tally tally;
        double bound_used = 0;
        for (const std::int64_t rows : {4, 40}) {
          workload w({.rows = rows, .keys = keys, .q_heads = 2, .dim = dim, .value_dim = 32, .k = kind, .v = kind},
                     seed());
          const report r = verify(ctx, w, &tally);
          require(r);
          bound_used = std::max(bound_used, r.largest_share);
        }
        CAPTURE(name_of(kind), dim, keys, tally.ours_rms(), tally.naive_rms(), bound_used);
        CHECK(bound_used > 0.01);
        CHECK(tally.ours_rms() <= 2 * tally.naive_rms());
        // Where many weights are alike, sums in splits err less than one long sum.
        if (kind == values::uniform && keys > 2 * numeric::split_keys) CHECK(tally.ours_rms() < tally.naive_rms());
      }
}
