#include "reference/naive.hpp"

#include <cmath>

namespace tril::reference::TRIL_NAIVE {
namespace {

void naive(const row& r, std::int64_t keys, float* scores, float* out) {
  const auto* k = static_cast<const float*>(r.k.data);
  const auto* v = static_cast<const float*>(r.v.data);
  const key_interval seen = r.visible.empty() ? key_interval{0, 0} : r.visible.front();

  float largest = -INFINITY;
  for (std::int64_t j = 0; j < keys; ++j) {
    float dot = 0.0f;
    for (std::int64_t c = 0; c < r.dim; ++c) dot += r.q[c] * k[j * r.k.stride + c];
    scores[j] = j >= seen.first && j < seen.last ? dot * r.scale : -INFINITY;
    largest = std::fmax(largest, scores[j]);
  }
  float sum = 0.0f;
  for (std::int64_t j = 0; j < keys; ++j) {
    scores[j] = std::exp(scores[j] - largest);
    sum += scores[j];
  }
  for (std::int64_t c = 0; c < r.value_dim; ++c) out[c] = 0.0f;
  if (largest == -INFINITY) return;
  for (std::int64_t j = 0; j < keys; ++j) {
    const float weight = scores[j] / sum;
    for (std::int64_t c = 0; c < r.value_dim; ++c) out[c] += weight * v[j * r.v.stride + c];
  }
}

}  // namespace

void naive_masked(const row& r, float* scores, float* out) { naive(r, r.keys, scores, out); }

void naive_truncated(const row& r, float* scores, float* out) {
  naive(r, r.visible.empty() ? 0 : r.visible.back().last, scores, out);
}

void naive_projection(const projected_row& r, float* y) {
  for (std::int64_t o = 0; o < r.out; ++o) {
    float sum = 0.0f;
    for (std::int64_t c = 0; c < r.in; ++c) sum += r.x[c] * r.weight[o * r.in + c];
    y[o] = r.bias ? sum + r.bias[o] : sum;
  }
}

}  // namespace tril::reference::TRIL_NAIVE
