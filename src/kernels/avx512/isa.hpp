#pragma once

/// AVX-512 F, BW, CD, DQ, VL: 16 lanes, 32 registers.

#include "contract/table.hpp"

#define TRIL_XSIMD_ARCH xsimd::avx512bw
#define TRIL_FUSED true

namespace tril::TRIL_ISA {
namespace {

struct isa {
  static constexpr const char* name = "avx512";
  static constexpr contract::tile_sizes tiles = {
      .block_rows = 96, .qk_rows = 12, .qk_panels = 2, .pv_rows = 6, .pv_columns = 64};
};

}  // namespace
}  // namespace tril::TRIL_ISA
