#include "contract/table.hpp"

namespace tril::test7x2 {
namespace {

/// Two panels at a time, so that an odd number of panels leaves one; a P.V tile of seven rows.
struct isa {
  static constexpr const char* name = "test7x2";
  static constexpr contract::tile_sizes tiles = {
      .block_rows = 21, .qk_rows = 7, .qk_panels = 2, .pv_rows = 7, .pv_columns = 32};
};

}  // namespace
}  // namespace tril::test7x2

#include "isa/counting.hpp"
