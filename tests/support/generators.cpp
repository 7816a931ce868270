#include "support/generators.hpp"

#include <cmath>

namespace tril::test {

float lcg::normal() {
  float sum = -6.0f;
  for (int i = 0; i < 12; ++i) sum += (unit() + 1.0f) / 2.0f;
  return sum;
}

std::uint32_t derived_seed(std::uint32_t seed, std::uint32_t i) {
  std::uint32_t x = seed + i * 0x9E3779B9u;  // the finaliser of MurmurHash3
  x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
  x = (x ^ (x >> 13)) * 0xC2B2AE35u;
  return x ^ (x >> 16);
}

const char* name_of(values kind) {
  switch (kind) {
    case values::uniform:
      return "uniform";
    case values::lognormal:
      return "lognormal";
    case values::spikes:
      return "spikes";
    case values::constant:
      return "constant";
    case values::alternating:
      return "alternating";
    case values::sorted:
      return "sorted";
    case values::subnormal:
      return "subnormal";
    case values::inf:
      return "inf";
    case values::nan:
      return "nan";
  }
  return "?";
}

std::vector<float> generate(values kind, std::size_t count, std::uint32_t seed) {
  lcg random(seed);
  const float constant = random.unit();
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    switch (kind) {
      case values::uniform:
        x[i] = random.unit();
        break;
      case values::lognormal:
        x[i] = std::exp(random.normal());
        x[i] = std::copysign(x[i], random.unit());
        break;
      case values::spikes:
        x[i] = random.one_in(32) ? 16.0f : 0.25f;
        x[i] *= random.normal();
        break;
      case values::constant:
        x[i] = constant;
        break;
      case values::alternating:
        x[i] = i % 2 == 0 ? 1.0f : -1.0f;
        break;
      case values::sorted:
        x[i] = 2.0f * static_cast<float>(i) / static_cast<float>(count) - 1.0f;
        break;
      case values::subnormal:
        x[i] = random.unit() * 0x1p-127f;
        break;
      case values::inf:
        x[i] = random.one_in(64) ? std::copysign(infinity, random.unit()) : random.unit();
        break;
      case values::nan:
        x[i] = random.one_in(64) ? std::copysign(quiet_nan, random.unit()) : random.unit();
        break;
    }
  }
  return x;
}

}  // namespace tril::test
