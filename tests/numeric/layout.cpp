#include "contract/layout.hpp"

#include <vector>

#include "support/catch.hpp"

using namespace tril::contract;

TEST_CASE("every element of a V panel has a place of its own, and its columns neighbour one another") {
  for (std::int64_t value_dim = 1; value_dim <= max_dim; ++value_dim) {
    CAPTURE(value_dim);
    const std::int64_t columns = padded_columns(value_dim);
    std::vector<bool> taken(static_cast<std::size_t>(v_panel_elements(value_dim)));
    bool apart = true, neighbours = true;
    for (std::int64_t key = 0; key < panel_keys; ++key)
      for (std::int64_t column = 0; column < columns; ++column) {
        const std::int64_t at = v_offset(value_dim, key, column);
        apart = apart && at >= 0 && at < v_panel_elements(value_dim) && !taken[static_cast<std::size_t>(at)];
        if (apart) taken[static_cast<std::size_t>(at)] = true;
        if (column % column_panel != 0) neighbours = neighbours && at == v_offset(value_dim, key, column - 1) + 1;
      }
    REQUIRE(apart);
    REQUIRE(neighbours);
  }
}

TEST_CASE("column panels are 64 wide, the last one only as wide as it must be") {
  for (std::int64_t value_dim = 1; value_dim <= max_dim; ++value_dim) {
    CAPTURE(value_dim);
    std::int64_t columns = 0;
    for (std::int64_t first = 0; first < value_dim; first += column_panel) {
      const std::int64_t width = v_column_panel_width(value_dim, first);
      REQUIRE(width % panel_keys == 0);
      REQUIRE((width == column_panel || first + column_panel > value_dim));
      REQUIRE(v_offset(value_dim, 1, first) - v_offset(value_dim, 0, first) == width);
      columns += width;
    }
    REQUIRE(columns == padded_columns(value_dim));
    REQUIRE(columns - value_dim < panel_keys);
  }
}

TEST_CASE("round_up gives the next multiple") {
  CHECK(round_up(0, 16) == 0);
  CHECK(round_up(1, 16) == 16);
  CHECK(round_up(16, 16) == 16);
  CHECK(round_up(17, 16) == 32);
  CHECK(round_up(10, 3) == 12);
}
