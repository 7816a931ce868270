#include "contract/table.hpp"

namespace tril::test3x1 {
namespace {

/// Odd everywhere: blocks that no vector divides, and a P.V tile of a single row.
struct isa {
  static constexpr const char* name = "test3x1";
  static constexpr contract::tile_sizes tiles = {
      .block_rows = 9, .qk_rows = 3, .qk_panels = 1, .pv_rows = 1, .pv_columns = 2};
};

}  // namespace
}  // namespace tril::test3x1

#include "isa/counting.hpp"
