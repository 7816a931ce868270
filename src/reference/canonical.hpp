#pragma once

#include <vector>

#include "reference/row.hpp"

namespace tril::reference {

struct float_row {
  std::vector<float> out;  // [value_dim]
  float lse;
};

/// The canonical order of operations in scalar code: the bits that every instruction set must produce. Fused
/// for those with a fused multiply-add, unfused for the others.
template <bool Fused>
float_row canonical(const row& r);

inline float_row canonical(bool fused, const row& r) { return fused ? canonical<true>(r) : canonical<false>(r); }

}  // namespace tril::reference
