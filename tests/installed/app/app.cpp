/// A program of C++20 that knows the installed library alone: a small attention beside a plain loop.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tril/tril.hpp>
#include <vector>

constexpr int rows = 5, keys = 300, q_heads = 4, kv_heads = 2, dim = 8, value_dim = 6;

/// In [-1, 1), the same for everyone who counts in 32 bits.
static std::vector<float> filled(int count, uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
  }
  return values;
}

int main() {
  const std::vector<float> q = filled(rows * q_heads * dim, 1), k = filled(keys * kv_heads * dim, 2),
                           v = filled(keys * kv_heads * value_dim, 3);
  std::vector<float> out(rows * q_heads * value_dim);

  const tril::context ctx({.threads = 2});
  const tril::status st = tril::attention(
      ctx, tril::bthd(q.data(), 1, rows, q_heads, dim), tril::bthd(k.data(), 1, keys, kv_heads, dim),
      tril::bthd(v.data(), 1, keys, kv_heads, value_dim), tril::bthd(out.data(), 1, rows, q_heads, value_dim));
  if (!st) {
    std::puts(st.message());
    return 1;
  }

  double worst = 0;
  for (int row = 0; row < rows; ++row)
    for (int head = 0; head < q_heads; ++head) {
      const int kv_head = head / (q_heads / kv_heads);
      double weights = 0, sums[value_dim] = {};
      for (int key = 0; key <= keys - rows + row; ++key) {
        double score = 0;
        for (int c = 0; c < dim; ++c)
          score += double{q.data()[(row * q_heads + head) * dim + c]} * k.data()[(key * kv_heads + kv_head) * dim + c];
        const double weight = std::exp(score / std::sqrt(double{dim}));
        weights += weight;
        for (int c = 0; c < value_dim; ++c) sums[c] += weight * v.data()[(key * kv_heads + kv_head) * value_dim + c];
      }
      for (int c = 0; c < value_dim; ++c)
        worst = std::max(worst, std::abs(out.data()[(row * q_heads + head) * value_dim + c] - sums[c] / weights));
    }
  std::printf("tril %s, %s: error %.1e\n", tril::version(), ctx.isa(), worst);
  return worst < 1e-6 ? 0 : 1;
}
