#pragma once

#include "support/context.hpp"

namespace tril::test {

/// The kernels of the instruction set under test.
inline const contract::kernel_table& kernels_under_test() { return kernels_of(context_under_test()); }

/// The multiply-add of its family.
inline float fma(bool fused, float a, float b, float c) {
  return fused ? numeric::fma<true>(a, b, c) : numeric::fma<false>(a, b, c);
}
inline float exp32(bool fused, float x) { return fused ? numeric::exp32<true>(x) : numeric::exp32<false>(x); }

inline std::uint32_t bits(float x) { return numeric::bits_as<std::uint32_t>(x); }

}  // namespace tril::test
