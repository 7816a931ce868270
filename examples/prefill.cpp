// Prefill: causal attention of a whole prompt. One call, then one row of it against the plain formula.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <tril/tril.hpp>
#include <vector>

namespace {

constexpr int64_t tokens = 512, q_heads = 16, kv_heads = 8, dim = 128;

std::vector<float> normal(int64_t size, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> values(static_cast<std::size_t>(size));
  std::generate(values.begin(), values.end(), [&] { return distribution(bits); });
  return values;
}

/// Of [tokens][heads][dim] with that many heads.
std::size_t at(int64_t heads, int64_t token, int64_t head) {
  return static_cast<std::size_t>((token * heads + head) * dim);
}

/// The formula, in double precision: softmax of the scaled dot products, weighting the values.
std::vector<double> plain_row(const float* q, const float* k, const float* v, int64_t row, int64_t head) {
  const int64_t kv_head = head / (q_heads / kv_heads);
  std::vector<double> sum(dim);
  double total = 0;
  for (int64_t key = 0; key <= row; ++key) {  // what a causal model may see
    double dot = 0;
    for (std::size_t c = 0; c < dim; ++c)
      dot += double{q[at(q_heads, row, head) + c]} * k[at(kv_heads, key, kv_head) + c];
    const double weight = std::exp(dot / std::sqrt(double{dim}));
    for (std::size_t c = 0; c < dim; ++c) sum[c] += weight * v[at(kv_heads, key, kv_head) + c];
    total += weight;
  }
  for (double& x : sum) x /= total;
  return sum;
}

}  // namespace

int main() {
  const auto q = normal(tokens * q_heads * dim, 1);
  const auto k = normal(tokens * kv_heads * dim, 2);
  const auto v = normal(tokens * kv_heads * dim, 3);
  std::vector<float> out(q.size());  // [tokens][heads][dim]: what the output projection takes

  const tril::context ctx;  // the best instruction set, the cores this process may use
  const tril::status st = tril::attention(
      ctx, tril::bthd(q.data(), 1, tokens, q_heads, dim), tril::bthd(k.data(), 1, tokens, kv_heads, dim),
      tril::bthd(v.data(), 1, tokens, kv_heads, dim), tril::bthd(out.data(), 1, tokens, q_heads, dim));
  if (!st) {
    std::fprintf(stderr, "%s\n", st.message());
    return 1;
  }

  const int64_t row = 300, head = 5;
  const std::vector<double> expected = plain_row(q.data(), k.data(), v.data(), row, head);
  double error = 0;
  for (std::size_t c = 0; c < dim; ++c)
    error = std::max(error, std::abs(out[at(q_heads, row, head) + c] - expected[c]));
  std::printf("%s on %d threads: row %d of head %d sees %d keys and is within %.1e of the plain loop\n", ctx.isa(),
              ctx.threads(), int{row}, int{head}, int{row + 1}, error);
  return error < 1e-6 ? 0 : 1;
}
