#pragma once

#include "kernels/generic/vec.hpp"

namespace tril::TRIL_ISA {
namespace {

/// numeric::exp32, lane by lane the same bits. Vectors go side by side, step by step: a core that meets them one after
/// the other fills its scheduler with steps that wait for the one before (Zen 5: prefill + 1 %).
template <int Count>
[[gnu::always_inline]] inline void exp32(vec (&x)[Count]) {
  using namespace numeric::exp_constants;
  vec t[Count], r[Count], y[Count];
  const auto each = [](auto step) { TRIL_UNROLL for (int i = 0; i < Count; ++i) step(i); };
  each([&](int i) { t[i] = fma(x[i], broadcast(log2_e), broadcast(round_magic)); });
  each([&](int i) { y[i] = t[i] - broadcast(round_magic); });
  each([&](int i) { r[i] = fma(y[i], broadcast(minus_ln2_high), x[i]); });
  each([&](int i) { r[i] = fma(y[i], broadcast(minus_ln2_low), r[i]); });
  each([&](int i) { y[i] = fma(broadcast(c6), r[i], broadcast(c5)); });
  each([&](int i) { y[i] = fma(y[i], r[i], broadcast(c4)); });
  each([&](int i) { y[i] = fma(y[i], r[i], broadcast(c3)); });
  each([&](int i) { y[i] = fma(y[i], r[i], broadcast(c2)); });
  each([&](int i) { y[i] = fma(y[i], r[i], broadcast(1.0f)); });
  each([&](int i) { y[i] = fma(y[i], r[i], broadcast(1.0f)); });
  each([&](int i) { y[i] = y[i] * power_of_two(t[i]); });
  each([&](int i) { x[i] = select(less(x[i], broadcast(lowest)), broadcast(0.0f), y[i]); });
}

[[gnu::always_inline]] inline vec exp32(vec x) {
  vec one[1] = {x};
  exp32(one);
  return one[0];
}

}  // namespace
}  // namespace tril::TRIL_ISA
