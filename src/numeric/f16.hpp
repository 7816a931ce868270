#pragma once

/// IEEE binary16: 1 sign bit, 5 bits of exponent, 10 of significand.

#include <cstdint>

namespace tril::numeric {

/// The float with the value of a float16; exact, since every one has it, and in every rounding and denormal mode,
/// since none is subnormal. NaN keeps sign and payload and becomes quiet, as it does in hardware.
static constexpr float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7FFFu;
  if (magnitude < 0x0400u) {  // subnormal, in units of 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  // The significand moves up by 13 bits. The exponent's bias grows by 112; its largest value stays the largest.
  std::uint32_t wide = magnitude << 13;
  wide += magnitude < 0x7C00u ? 112u << 23 : 224u << 23;
  if (magnitude > 0x7C00u) wide |= 0x00400000u;
  return __builtin_bit_cast(float, sign | wide);
}

}  // namespace tril::numeric
