#pragma once

/// One lane, no SIMD: what every machine can run, and what the others are compared with.

#include "contract/table.hpp"

namespace tril::TRIL_ISA {
namespace {

struct isa {
  static constexpr const char* name = "scalar";
  static constexpr contract::tile_sizes tiles = {
      .block_rows = 16, .qk_rows = 2, .qk_panels = 1, .pv_rows = 2, .pv_columns = 4};
};

}  // namespace
}  // namespace tril::TRIL_ISA
