#pragma once

#include "kernels/generic/block.hpp"

namespace tril::TRIL_ISA {
namespace {

/// Scores of the keys that a row does not see become -inf, by select: what they were does not matter.
inline void hide(float* scores, std::uint32_t visible) {
  for (int i = 0; i < panel_keys; i += width)
    store(scores + i, select(lanes_of(visible >> i), load(scores + i), broadcast(numeric::negative_infinity)));
}

}  // namespace
}  // namespace tril::TRIL_ISA
