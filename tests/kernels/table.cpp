#include <string_view>

#include "kernels/kernels.hpp"
#include "support/catch.hpp"

using namespace tril;
using namespace tril::test;

TEST_CASE("A table has every kernel of the list, and tiles that fit together") {
  const contract::kernel_table& kernels = kernels_under_test();
#define TRIL_KERNEL(field, label, ...) \
  INFO(label);                         \
  CHECK(kernels.field != nullptr);
#include "contract/kernels.inc"
#undef TRIL_KERNEL
  const contract::tile_sizes& tiles = kernels.tiles;
  CHECK(tiles.block_rows % tiles.qk_rows == 0);
  CHECK(tiles.qk_rows % tiles.pv_rows == 0);
  CHECK(contract::column_panel % tiles.pv_columns == 0);
  CHECK(contract::panel_keys % kernels.width == 0);
}

TEST_CASE("Scratch grows with dim and value_dim, and suffices for views where it does for panels") {
  const contract::kernel_table& kernels = kernels_under_test();
  for (const std::int64_t dim : {1, 64, 1024})
    for (const std::int64_t value_dim : {1, 17, 1024}) {
      const std::size_t bytes = kernels.block_bytes(dim, value_dim);
      CHECK(bytes < kernels.block_bytes(dim + 1, value_dim));
      CHECK(bytes < kernels.block_bytes(dim, value_dim + 16));
      CHECK(bytes <= kernels.view_bytes(dim, value_dim));
    }
}
