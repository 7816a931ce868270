#pragma once

#include "kernels/generic/vec.hpp"

namespace tril::TRIL_ISA {
namespace {

/// numeric::exp32, lane by lane the same bits.
[[gnu::always_inline]] inline vec exp32(vec x) {
  using namespace numeric::exp_constants;
  const vec t = fma(x, broadcast(log2_e), broadcast(round_magic));
  const vec n = t - broadcast(round_magic);
  vec r = fma(n, broadcast(minus_ln2_high), x);
  r = fma(n, broadcast(minus_ln2_low), r);
  vec y = broadcast(c6);
  y = fma(y, r, broadcast(c5));
  y = fma(y, r, broadcast(c4));
  y = fma(y, r, broadcast(c3));
  y = fma(y, r, broadcast(c2));
  y = fma(y, r, broadcast(1.0f));
  y = fma(y, r, broadcast(1.0f));
  y = y * power_of_two(t);
  return select(less(x, broadcast(lowest)), broadcast(0.0f), y);
}

}  // namespace
}  // namespace tril::TRIL_ISA
