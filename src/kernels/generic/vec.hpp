#pragma once

/// The vocabulary of the generic kernels: a vector of `width` floats and the few operations on it whose
/// result IEEE 754 or the canonical order fixes. Here for one lane; xsimd.hpp has the same for SIMD.

#ifndef TRIL_ISA
#error "kernels are compiled once per instruction set, with its name in TRIL_ISA"
#endif

#include "numeric/canon.hpp"

/// Loops over the sums of a tile are unrolled by force: a tile lives in registers or not at all. The loops
/// around them take two steps at a time, which on SSE4.2 is worth a fifth, but one with clang, which runs out of
/// registers there, as g++ does with more.
#if defined(__clang__)
#define TRIL_UNROLL _Pragma("clang loop unroll(full)")
#define TRIL_STEPS _Pragma("clang loop unroll(disable)")
#else
#define TRIL_UNROLL _Pragma("GCC unroll 64")
#define TRIL_STEPS _Pragma("GCC unroll 2")
#endif

#if defined(TRIL_XSIMD_ARCH)
#include "kernels/generic/xsimd.hpp"
#else

namespace tril::TRIL_ISA {
namespace {

using vec = float;
using lanes = bool;  // one truth value per lane
inline constexpr bool fused = false;
inline constexpr int width = 1;

inline vec load(const float* p) { return *p; }
inline void store(float* p, vec x) { *p = x; }
inline vec broadcast(float x) { return x; }
inline vec fma(vec a, vec b, vec c) { return numeric::fma<fused>(a, b, c); }
inline vec max(vec a, vec b) { return a > b ? a : b; }  // which operand a NaN loses to is free
inline lanes less(vec a, vec b) { return a < b; }
inline lanes equal(vec a, vec b) { return a == b; }
inline bool all(lanes m) { return m; }
inline vec select(lanes m, vec yes, vec no) { return m ? yes : no; }

/// Lane i is bit i of `bits`.
inline lanes lanes_of(std::uint32_t bits) { return (bits & 1u) != 0; }

/// 2^n from t = round_magic + n (see exp32).
inline vec power_of_two(vec t) {
  return numeric::bits_as<float>((numeric::bits_as<std::uint32_t>(t) << 23) + 0x3F800000u);
}

/// Lanes a0 b0 a1 b1 ... of the lower halves of a and b, and of the upper ones. With one lane, a and b.
inline void interleave(vec a, vec b, vec& low, vec& high) {
  low = a;
  high = b;
}

}  // namespace
}  // namespace tril::TRIL_ISA

#endif
