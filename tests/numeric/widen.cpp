#include <bit>
#include <cmath>
#include <cstdint>

#include "numeric/bf16.hpp"
#include "numeric/f16.hpp"
#include "support/catch.hpp"

using namespace tril::numeric;

namespace {

/// The bits of a float that stand for (-1)^sign 2^(exponent - bias) 1.significand, and so on, as the standard
/// defines a format of that many bits. NaN is quiet and has the significand in its upper bits.
std::uint32_t defined(std::uint32_t bits, int significand_bits, int exponent_bits) {
  const std::uint32_t significand = bits & ((1u << significand_bits) - 1);
  const int exponent = static_cast<int>(bits >> significand_bits) & ((1 << exponent_bits) - 1);
  const std::uint32_t sign = bits >> (significand_bits + exponent_bits) << 31;
  const int largest = (1 << exponent_bits) - 1, bias = largest / 2;
  if (exponent == largest && significand != 0) return sign | 0x7FC00000u | significand << (23 - significand_bits);
  double value = std::ldexp(significand, 1 - bias - significand_bits);
  if (exponent > 0) value = std::ldexp((1u << significand_bits) + significand, exponent - bias - significand_bits);
  if (exponent == largest) value = HUGE_VAL;
  return sign | std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

static_assert(f16_to_f32(0x3C00) == 1 && f16_to_f32(0xC000) == -2 && f16_to_f32(0x0001) == 0x1p-24f);
static_assert(bf16_to_f32(0x3F80) == 1 && bf16_to_f32(0xC000) == -2 && bf16_to_f32(0x0001) == 0x1p-133f);

}  // namespace

TEST_CASE("every float16 becomes the float of its value") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    CAPTURE(bits);
    REQUIRE(std::bit_cast<std::uint32_t>(f16_to_f32(static_cast<std::uint16_t>(bits))) == defined(bits, 10, 5));
  }
}

TEST_CASE("every bfloat16 becomes the float of its value, NaN bit for bit") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    CAPTURE(bits);
    const bool nan = (bits & 0x7FFF) > 0x7F80;
    REQUIRE(std::bit_cast<std::uint32_t>(bf16_to_f32(static_cast<std::uint16_t>(bits))) ==
            (nan ? bits << 16 : defined(bits, 7, 8)));
  }
}
