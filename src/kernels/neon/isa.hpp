#pragma once

/// Advanced SIMD of AArch64: 4 lanes, 32 registers, fused multiply-add.

#include "contract/table.hpp"

#define TRIL_XSIMD_ARCH xsimd::neon64
#define TRIL_FUSED true

namespace tril::TRIL_ISA {
namespace {

struct isa {
  static constexpr const char* name = "neon";
  static constexpr contract::tile_sizes tiles = {
      .block_rows = 48, .qk_rows = 6, .qk_panels = 1, .pv_rows = 6, .pv_columns = 16};
};

}  // namespace
}  // namespace tril::TRIL_ISA
