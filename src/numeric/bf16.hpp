#pragma once

/// bfloat16: the upper half of a float.

#include <cstdint>

namespace tril::numeric {

/// The float with the value of a bfloat16; exact. NaN keeps every bit, a signalling one stays so.
static constexpr float bf16_to_f32(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace tril::numeric
