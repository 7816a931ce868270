#include "reference/canonical.hpp"

#include <algorithm>

namespace tril::reference {
namespace {

using numeric::negative_infinity;

/// Partial result over one split or several: maximum, sum of exponentials, unnormalised output.
struct state {
  float m = negative_infinity;
  float l = 0.0f;
  std::vector<float> o;
};

template <bool Fused>
float score(const row& r, const std::vector<float>& q, std::int64_t j) {
  float s = 0.0f;
  for (std::int64_t c = 0; c < r.dim; ++c) s = numeric::fma<Fused>(q[static_cast<std::size_t>(c)], r.k.stored(j, c), s);
  if (r.k.scales) s = s * r.k.scales[j];
  if (r.soft_cap != 0.0f) {
    const float inverse = 1.0f / r.soft_cap;
    s = r.soft_cap * numeric::tanh32<Fused>(s * inverse);
  }
  if (r.bias) s = s + r.bias[j];
  if (r.slope != 0.0f) s = numeric::fma<Fused>(r.slope, static_cast<float>(j - r.position), s);
  return s;
}

/// One split: its visible keys with their scores, ascending.
struct scored_key {
  std::int64_t key;
  float score;
};

template <bool Fused>
state softmax_of_split(const row& r, const std::vector<scored_key>& keys) {
  state split;
  split.o.assign(static_cast<std::size_t>(r.value_dim), 0.0f);
  for (const scored_key& k : keys) split.m = std::max(split.m, k.score);
  const float shift = split.m > negative_infinity ? split.m : 0.0f;
  float lane[numeric::panel_keys] = {};
  for (const scored_key& k : keys) {
    float w = numeric::exp32<Fused>(k.score - shift);
    lane[k.key % numeric::panel_keys] += w;
    if (r.v.scales) w = w * r.v.scales[k.key];
    for (std::int64_t c = 0; c < r.value_dim; ++c) {
      float& o = split.o[static_cast<std::size_t>(c)];
      o = numeric::fma<Fused>(w, r.v.stored(k.key, c), o);
    }
  }
  for (int half = numeric::panel_keys / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  split.l = lane[0];
  return split;
}

template <bool Fused>
void fold(state& all, const state& split) {
  if (split.l == 0.0f) return;
  const float m = std::max(all.m, split.m);
  const float a = numeric::exp32<Fused>(all.m - m);
  const float b = numeric::exp32<Fused>(split.m - m);
  all.l = numeric::fma<Fused>(all.l, a, split.l * b);
  for (std::size_t c = 0; c < all.o.size(); ++c) all.o[c] = numeric::fma<Fused>(all.o[c], a, split.o[c] * b);
  all.m = m;
}

template <bool Fused>
void add_sink(state& all, float sink) {
  const float m = std::max(all.m, sink);
  const float a = numeric::exp32<Fused>(all.m - m);
  all.l = numeric::fma<Fused>(all.l, a, numeric::exp32<Fused>(sink - m));
  for (float& o : all.o) o = o * a;
  all.m = m;
}

}  // namespace

template <bool Fused>
float_row canonical(const row& r) {
  std::vector<float> q(r.q, r.q + r.dim);
  for (float& x : q) x = x * r.scale;

  state all;
  all.o.assign(static_cast<std::size_t>(r.value_dim), 0.0f);
  for (std::int64_t first = 0; first < r.keys; first += numeric::split_keys) {
    std::vector<scored_key> keys;
    for (const auto& [begin, end] : r.visible)
      for (std::int64_t j = std::max(begin, first); j < std::min(end, first + numeric::split_keys); ++j) {
        if (!r.allows(j)) continue;
        const float s = score<Fused>(r, q, j);
        if (s != negative_infinity) keys.push_back({j, s});
      }
    fold<Fused>(all, softmax_of_split<Fused>(r, keys));
  }
  if (r.sink > negative_infinity) add_sink<Fused>(all, r.sink);

  float_row result;
  for (const float o : all.o) result.out.push_back(all.l == 0.0f ? 0.0f : numeric::canonical(o / all.l + 0.0f));
  result.lse = all.l == 0.0f ? negative_infinity : numeric::canonical(numeric::log_sum_exp(all.m, all.l));
  return result;
}

template float_row canonical<true>(const row& r);
template float_row canonical<false>(const row& r);

}  // namespace tril::reference
