#pragma once

/// SSE4.2: 4 lanes, 16 registers, no fused multiply-add; the floor of x86-64-v2.

#include "contract/table.hpp"

#define TRIL_XSIMD_ARCH xsimd::sse4_2
#define TRIL_FUSED false

namespace tril::TRIL_ISA {
namespace {

struct isa {
  static constexpr const char* name = "sse42";
  static constexpr contract::tile_sizes tiles = {
      .block_rows = 48, .qk_rows = 2, .qk_panels = 1, .pv_rows = 2, .pv_columns = 16};
};

}  // namespace
}  // namespace tril::TRIL_ISA
