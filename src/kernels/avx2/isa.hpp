#pragma once

/// AVX2 and FMA: 8 lanes, 16 registers.

#include "contract/table.hpp"

#define TRIL_XSIMD_ARCH xsimd::fma3<xsimd::avx2>
#define TRIL_FUSED true

namespace tril::TRIL_ISA {
namespace {

struct isa {
  static constexpr const char* name = "avx2";
  static constexpr contract::tile_sizes tiles = {
      .block_rows = 48, .qk_rows = 6, .qk_panels = 1, .pv_rows = 6, .pv_columns = 16};
};

}  // namespace
}  // namespace tril::TRIL_ISA
