#pragma once

/// The vocabulary of vec.hpp over xsimd::batch, versions 8.1 to 14. The only file that includes xsimd. What
/// differs between versions, or from what the canonical order needs, is corrected here and named:
///   fma          8.1's avx512 has no fused one: it multiplies, then adds
///   max          on x86 a NaN in either operand gives the second operand before 14, from 14 on the first; neon's gives
///                NaN. No result depends on it
///   division     neon64's refines an estimate of the reciprocal, up to 1 ulp off
///   zip          8.1's avx and avx512 interleave within 128-bit lanes only
///   bitwise_cast takes a batch in 8.1 and an element type since 11: registers are cast instead
///   batch_bool   has from_mask() only since 9
/// TRIL_XSIMD_ARCH is the architecture tag of the instruction set, always named: the default differs.

#include <xsimd/xsimd.hpp>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__aarch64__)
template <>
[[gnu::always_inline]] inline xsimd::batch<float, xsimd::neon64>& xsimd::batch<float, xsimd::neon64>::operator/=(
    const batch& other) noexcept {
  return *this = vdivq_f32(*this, other);
}
#endif

namespace tril::TRIL_ISA {
namespace {

using arch = TRIL_XSIMD_ARCH;
using vec = xsimd::batch<float, arch>;
using lanes = xsimd::batch_bool<float, arch>;
using integers = xsimd::batch<std::int32_t, arch>;
inline constexpr int width = static_cast<int>(vec::size);
inline constexpr bool fused = TRIL_FUSED;

inline vec load(const float* p) { return vec::load_unaligned(p); }
inline void store(float* p, vec x) { x.store_unaligned(p); }
inline vec broadcast(float x) { return vec(x); }

[[gnu::always_inline]] inline vec fma(vec a, vec b, vec c) {
  if constexpr (!fused) return a * b + c;
#if defined(__AVX512F__)
  else if constexpr (width == 16)
    return _mm512_fmadd_ps(a, b, c);
#endif
  else
    return xsimd::fma(a, b, c);
}

inline vec max(vec a, vec b) { return xsimd::max(a, b); }
inline lanes less(vec a, vec b) { return a < b; }
inline lanes equal(vec a, vec b) { return a == b; }
inline bool all(lanes m) { return xsimd::all(m); }
inline vec select(lanes m, vec yes, vec no) { return xsimd::select(m, yes, no); }

/// The same register under another element type.
template <class To, class From>
[[gnu::always_inline]] inline To register_cast(From from) {
  return To(__builtin_bit_cast(typename To::register_type, static_cast<typename From::register_type>(from)));
}

inline lanes lanes_of(std::uint32_t bits) {
#if defined(__AVX512F__)
  return lanes(static_cast<__mmask16>(bits));
#else
  alignas(64) static constexpr std::int32_t bit_of_lane[16] = {1 << 0,  1 << 1,  1 << 2,  1 << 3, 1 << 4,  1 << 5,
                                                               1 << 6,  1 << 7,  1 << 8,  1 << 9, 1 << 10, 1 << 11,
                                                               1 << 12, 1 << 13, 1 << 14, 1 << 15};
  const integers bit = integers::load_aligned(bit_of_lane);
  return register_cast<lanes>((integers(static_cast<std::int32_t>(bits)) & bit) == bit);
#endif
}

inline vec power_of_two(vec t) { return register_cast<vec>((register_cast<integers>(t) << 23) + integers(0x3F800000)); }

/// Lanes a0 b0 a1 b1 ... of the lower halves, and of the upper ones.
[[gnu::always_inline]] inline void interleave(vec a, vec b, vec& low, vec& high) {
#if defined(__AVX512F__)
  const __m512i from_low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i from_high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  low = _mm512_permutex2var_ps(a, from_low, b);
  high = _mm512_permutex2var_ps(a, from_high, b);
#elif defined(__AVX__)
  const __m256 even = _mm256_unpacklo_ps(a, b), odd = _mm256_unpackhi_ps(a, b);
  low = _mm256_permute2f128_ps(even, odd, 0x20);
  high = _mm256_permute2f128_ps(even, odd, 0x31);
#else
  low = xsimd::zip_lo(a, b);
  high = xsimd::zip_hi(a, b);
#endif
}

}  // namespace
}  // namespace tril::TRIL_ISA
