#pragma once

#include "kernels/generic/block.hpp"

namespace tril::TRIL_ISA {
namespace {

/// Whether some row of a tile sees a key of a panel; null masks: every row sees all. A wholly hidden tile is not
/// computed.
inline bool any_visible(const std::uint16_t* masks, int rows) {
  unsigned any = masks == nullptr;
  for (int row = 0; masks && row < rows; ++row) any |= masks[row];
  return any != 0;
}

/// Scores of the keys that a row does not see become -inf, by select: what they were does not matter.
inline void hide(float* scores, std::uint32_t visible) {
  for (int i = 0; i < panel_keys; i += width)
    store(scores + i, select(lanes_of(visible >> i), load(scores + i), broadcast(numeric::negative_infinity)));
}

}  // namespace
}  // namespace tril::TRIL_ISA
