#pragma once

#include <cstdint>
#include <vector>

namespace tril::reference {

/// y = W x + bias for one row, all contiguous: x [in], weight [out][in], bias [out] or null.
struct projected_row {
  const float* x;
  const float* weight;
  const float* bias;
  std::int64_t in, out;
};

/// In double, and how far a float32 result may be from it.
struct exact_projection {
  std::vector<double> y;
  std::vector<double> bound;
};
exact_projection projection(const projected_row& r);

/// The canonical order in scalar code, the bits that every instruction set must produce: s = +0, then
/// s = fma(x_c, w_c, s) for c ascending, then s + bias if there is one, then + 0; a NaN is the canonical one.
template <bool Fused>
std::vector<float> canonical_projection(const projected_row& r);

inline std::vector<float> canonical_projection(bool fused, const projected_row& r) {
  return fused ? canonical_projection<true>(r) : canonical_projection<false>(r);
}

}  // namespace tril::reference
