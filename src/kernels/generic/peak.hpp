#pragma once

/// What this core can do at most, measured by the same compiler with the same flags as the kernels: the
/// limits that benchmarks report shares of.

#include "contract/args.hpp"
#include "contract/layout.hpp"
#include "kernels/generic/vec.hpp"

namespace tril::TRIL_ISA {
namespace {

/// `Sums` independent chains of multiply-add in registers.
template <int Sums>
[[gnu::noinline]] float chains(std::int64_t steps) {
  vec sum[Sums];
  TRIL_UNROLL for (int i = 0; i < Sums; ++i) sum[i] = broadcast(static_cast<float>(i));
  const vec factor = broadcast(0.9375f), term = broadcast(0.0625f);  // towards 1: never subnormal
  for (std::int64_t step = 0; step < steps; ++step) TRIL_UNROLL for (vec& s : sum) s = fma(s, factor, term);
  float lane[numeric::panel_keys], all = 0.0f;
  for (const vec& s : sum) {
    store(lane, s);
    all += lane[0];
  }
  return all;
}

inline void peak(contract::peak_args& args) {
  // What the register file holds beside the two constants; a multiply and an add in turn need at least 12.
  constexpr bool many_registers = isa::tiles.qk_rows * isa::tiles.qk_panels >= 24;
  constexpr int few = many_registers ? 16 : 13, many = many_registers ? 24 : 14;
  const int sums = args.many ? many : few;
  args.result = args.many ? chains<many>(args.steps) : chains<few>(args.steps);
  args.flops = 2.0 * width * sums * static_cast<double>(args.steps);
}

/// Reads `count` floats, a multiple of 128, and returns their sum, so that none is skipped.
[[gnu::noinline]] inline float read(const float* from, std::int64_t count) {
  constexpr int at_once = 8;
  vec sum[at_once];
  TRIL_UNROLL for (vec& s : sum) s = broadcast(0.0f);
  for (std::int64_t i = 0; i + at_once * width <= count; i += at_once * width)
    TRIL_UNROLL for (int j = 0; j < at_once; ++j) sum[j] = sum[j] + load(from + i + j * width);
  float lane[numeric::panel_keys], all = 0.0f;
  for (const vec& s : sum) {
    store(lane, s);
    for (int i = 0; i < width; ++i) all += lane[i];
  }
  return all;
}

}  // namespace
}  // namespace tril::TRIL_ISA
