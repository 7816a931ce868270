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
  const vec factor = broadcast(0.9375f), term = broadcast(0.0625f);  // sums only grow: never subnormal
  for (std::int64_t step = 0; step < steps; ++step) TRIL_UNROLL for (vec& s : sum) s = fma(factor, term, s);
  float lane[numeric::panel_keys], all = 0.0f;
  for (const vec& s : sum) {
    store(lane, s);
    all += lane[0];
  }
  return all;
}

inline void peak(contract::peak_args& args) {
  // What the register file holds beside the two constants; a multiply and an add in turn need at least 12.
  constexpr int tile_sums = isa::tiles.qk_rows * isa::tiles.qk_panels * (numeric::panel_keys / width);
  constexpr bool many_registers = width > 1 && tile_sums >= 24;
  constexpr int few = many_registers ? 16 : 13, many = many_registers ? 24 : 14;
  const int sums = args.many ? many : few;
  args.result = args.many ? chains<many>(args.steps) : chains<few>(args.steps);
  args.flops = 2.0 * width * sums * static_cast<double>(args.steps);
}

/// Reads `count` floats, a multiple of 128, and returns their sum, so that none is skipped. In four streams, each
/// prefetched: measured to beat one stream by a quarter with one thread, and by half with two.
[[gnu::noinline]] inline float read(const float* from, std::int64_t count) {
  constexpr int streams = 4, at_once = 2, line = 16;
  constexpr std::int64_t ahead = 8 * line;
  const std::int64_t part = count / streams;
  vec sum[streams][at_once];
  TRIL_UNROLL for (auto& stream : sum) TRIL_UNROLL for (vec& s : stream) s = broadcast(0.0f);
  for (std::int64_t i = 0; i + at_once * width <= part; i += at_once * width)
    TRIL_UNROLL for (int t = 0; t < streams; ++t) {
      const float* at = from + t * part + i;
      if (i % line == 0) TRIL_UNROLL for (int j = 0; j < at_once * width; j += line) __builtin_prefetch(at + ahead + j);
      TRIL_UNROLL for (int j = 0; j < at_once; ++j) sum[t][j] = sum[t][j] + load(at + j * width);
    }
  float lane[numeric::panel_keys], all = 0.0f;
  for (const auto& stream : sum)
    for (const vec& s : stream) {
      store(lane, s);
      for (int i = 0; i < width; ++i) all += lane[i];
    }
  return all;
}

}  // namespace
}  // namespace tril::TRIL_ISA
