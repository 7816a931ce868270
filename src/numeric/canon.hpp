#pragma once

/// Every constant of the canonical arithmetic, and its scalar functions. A result of tril is a pure function
/// of its inputs and of what stands here: change a digit and arithmetic_version must change with it.
///
/// `Fused` says what fma(a, b, c) means: one rounding, or RN(RN(a * b) + c). Functions are `static` because
/// this file is also compiled with the flags of each instruction set: a shared copy must never be emitted.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__FAST_MATH__)
#error "tril defines the result of every operation: build it without -ffast-math"
#endif
#if __FLT_EVAL_METHOD__ != 0
#error "tril needs float arithmetic in float (on x86: SSE, not x87)"
#endif

namespace tril::numeric {

inline constexpr int arithmetic_version = 1;

inline constexpr int panel_keys = 16;   // lanes of one step; lane sums are kept per (key mod 16)
inline constexpr int split_keys = 256;  // keys whose softmax has one maximum; 128 and 512 measured within 4 %

inline constexpr float negative_infinity = -__builtin_inff();
inline constexpr std::uint32_t canonical_nan_bits = 0x7FC00000u;

template <class To, class From>
static inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

template <bool Fused>
static inline float fma(float a, float b, float c) {
  if constexpr (Fused)
    return __builtin_fmaf(a, b, c);
  else
    return a * b + c;
}

/// exp on x <= 0: n = round(x / ln 2), r = x - n ln 2 in two pieces, a minimax polynomial of degree 6 in r
/// with leading coefficients 1, 1, times 2^n.
namespace exp_constants {
inline constexpr float log2_e = 0x1.715476p+0f;
inline constexpr float round_magic = 0x1.8p23f;       // adding it leaves round(x / ln 2) in the low bits
inline constexpr float minus_ln2_high = -0x1.63p-1f;  // 9 bits, so that n * ln2_high is exact
inline constexpr float minus_ln2_low = 0x1.bd0106p-13f;
inline constexpr float c6 = 0x1.6a23cep-10f;
inline constexpr float c5 = 0x1.123a2p-7f;
inline constexpr float c4 = 0x1.5558f2p-5f;
inline constexpr float c3 = 0x1.555492p-3f;
inline constexpr float c2 = 0x1.fffffcp-2f;
inline constexpr float lowest = -87.33654022f;  // ln(FLT_MIN): below it the result is +0, never subnormal
}  // namespace exp_constants

/// e^x for x <= 0 and NaN. Error: 0.88 ulp fused, 1.18 ulp unfused, over every float in [-87.3365, 0]. Not quite
/// monotone: in some 3000 places neighbouring floats change places.
template <bool Fused>
static inline float exp32(float x) {
  using namespace exp_constants;
  const float t = fma<Fused>(x, log2_e, round_magic);
  const float n = t - round_magic;
  float r = fma<Fused>(n, minus_ln2_high, x);
  r = fma<Fused>(n, minus_ln2_low, r);
  float y = c6;
  y = fma<Fused>(y, r, c5);
  y = fma<Fused>(y, r, c4);
  y = fma<Fused>(y, r, c3);
  y = fma<Fused>(y, r, c2);
  y = fma<Fused>(y, r, 1.0f);
  y = fma<Fused>(y, r, 1.0f);
  // A multiplication: adding n to the exponent field would turn NaN into a number.
  y *= bits_as<float>((bits_as<std::uint32_t>(t) << 23) + 0x3F800000u);
  return x < lowest ? 0.0f : y;  // after the polynomial, so that NaN passes
}

/// tanh below `tanh_constants::small`: y + y z P(z), z = y^2, P minimax for the relative error (2^-27.7).
namespace tanh_constants {
inline constexpr float small = 0.625f;
inline constexpr float p4 = -0x1.75e1dp-8f;
inline constexpr float p3 = 0x1.52269cp-6f;
inline constexpr float p2 = -0x1.b83c5ap-5f;
inline constexpr float p1 = 0x1.110726p-3f;
inline constexpr float p0 = -0x1.555532p-2f;
}  // namespace tanh_constants

/// tanh y for every float; odd, NaN to NaN. Above `small` it is (1 - e) / (1 + e) with e = exp32(-2 |y|).
template <bool Fused>
static inline float tanh32(float y) {
  using namespace tanh_constants;
  const std::uint32_t sign = bits_as<std::uint32_t>(y) & 0x80000000u;
  const float magnitude = bits_as<float>(bits_as<std::uint32_t>(y) ^ sign);
  const float e = exp32<Fused>(-2.0f * magnitude);
  const float large = (1.0f - e) / (1.0f + e);
  const float z = magnitude * magnitude;
  float p = p4;
  p = fma<Fused>(p, z, p3);
  p = fma<Fused>(p, z, p2);
  p = fma<Fused>(p, z, p1);
  p = fma<Fused>(p, z, p0);
  const float near_zero = fma<Fused>(magnitude * z, p, magnitude);
  const float result = magnitude < small ? near_zero : large;
  return bits_as<float>(bits_as<std::uint32_t>(result) | sign);
}

/// ln x for finite x > 0 that is a normal double, and NaN: x = 2^e m with m in [1/sqrt 2, sqrt 2),
/// ln m = 2 artanh z with z = (m - 1) / (m + 1), by its series to z^21 (remainder below 2^-58).
/// Plain double arithmetic without fma, the same on every instruction set.
static inline double ln64(double x) {
  if (!(x == x)) return x;
  const std::uint64_t bits = bits_as<std::uint64_t>(x);
  constexpr std::uint64_t sqrt_half_bits = 0x3FE6A09E667F3BCDu;
  // Exponent and mantissa in one step: subtracting sqrt(1/2) makes m fall into [sqrt(1/2), sqrt 2).
  const std::int64_t e = static_cast<std::int64_t>(bits - sqrt_half_bits) >> 52;
  const double m = bits_as<double>(bits - (static_cast<std::uint64_t>(e) << 52));
  const double z = (m - 1.0) / (m + 1.0);
  const double s = z * z;
  double series = 1.0 / 21.0;
  series = series * s + 1.0 / 19.0;
  series = series * s + 1.0 / 17.0;
  series = series * s + 1.0 / 15.0;
  series = series * s + 1.0 / 13.0;
  series = series * s + 1.0 / 11.0;
  series = series * s + 1.0 / 9.0;
  series = series * s + 1.0 / 7.0;
  series = series * s + 1.0 / 5.0;
  series = series * s + 1.0 / 3.0;
  const double ln_m = 2.0 * z + 2.0 * z * (s * series);
  return static_cast<double>(e) * 0x1.62e42fefa39efp-1 + ln_m;
}

/// The natural logarithm of a sum l of exponentials with maximum m taken out: m + ln l, rounded once.
static inline float log_sum_exp(float m, float l) {
  return static_cast<float>(static_cast<double>(m) + ln64(static_cast<double>(l)));
}

/// NaN to the canonical quiet NaN; everything else unchanged.
static inline float canonical(float x) { return x == x ? x : bits_as<float>(canonical_nan_bits); }

}  // namespace tril::numeric
