// A layer's attention to the end: the heads' outputs lie side by side as attention writes them, and the projection W_O
// takes them from there. A prompt is prefilled and tokens are decoded, with the bits that one longer prefill gives.
// The shape is that of Qwen3-0.6B, whose heads together, 16 times 128, are twice as wide as the model.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <tril/tril.hpp>
#include <utility>
#include <vector>

namespace {

constexpr int64_t prompt = 60, tokens = 64, q_heads = 16, kv_heads = 8, dim = 128, width = 1024;
constexpr int64_t in = q_heads * dim;

std::vector<float> normal(int64_t size, float deviation, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> distribution(0.0f, deviation);
  std::vector<float> values(static_cast<std::size_t>(size));
  std::generate(values.begin(), values.end(), [&] { return distribution(bits); });
  return values;
}

const std::vector<float> q = normal(tokens * in, 1.0f, 1), k = normal(tokens * kv_heads * dim, 1.0f, 2),
                         v = normal(tokens * kv_heads * dim, 1.0f, 3),
                         w_o = normal(width * in, 1.0f / std::sqrt(float{in}), 4), bias = normal(width, 0.1f, 5);

/// Rows first ... last - 1 attend to the tokens up to their own, and are projected to y.
tril::status step(const tril::context& ctx, const tril::projection& projection, int64_t first, int64_t last,
                  std::vector<float>& y) {
  const int64_t rows = last - first;
  std::vector<float> heads(static_cast<std::size_t>(rows * in));
  const tril::status st = tril::attention(
      ctx, tril::bthd(q.data() + first * in, 1, rows, q_heads, dim), tril::bthd(k.data(), 1, last, kv_heads, dim),
      tril::bthd(v.data(), 1, last, kv_heads, dim), tril::bthd(heads.data(), 1, rows, q_heads, dim));
  if (!st) return st;
  return projection.run(tril::bthd(std::as_const(heads).data(), 1, rows, q_heads, dim),
                        tril::bthd(y.data() + first * width, 1, rows, 1, width));
}

/// The same row by the definition, in double.
std::vector<double> by_definition(int64_t row) {
  std::vector<double> heads(in), weights(static_cast<std::size_t>(row + 1));
  for (int64_t h = 0; h < q_heads; ++h) {
    const int64_t kv = h / (q_heads / kv_heads);
    double sum = 0;
    for (int64_t j = 0; j <= row; ++j) {
      double score = 0;
      for (int64_t c = 0; c < dim; ++c)
        score += double{q[std::size_t(row * in + h * dim + c)]} * double{k[std::size_t((j * kv_heads + kv) * dim + c)]};
      sum += weights[std::size_t(j)] = std::exp(score / std::sqrt(double{dim}));
    }
    for (int64_t j = 0; j <= row; ++j)
      for (int64_t c = 0; c < dim; ++c)
        heads[std::size_t(h * dim + c)] +=
            weights[std::size_t(j)] / sum * double{v[std::size_t((j * kv_heads + kv) * dim + c)]};
  }
  std::vector<double> y(bias.begin(), bias.end());
  for (int64_t o = 0; o < width; ++o)
    for (int64_t i = 0; i < in; ++i) y[std::size_t(o)] += heads[std::size_t(i)] * double{w_o[std::size_t(o * in + i)]};
  return y;
}

}  // namespace

int main() {
  const tril::context ctx;
  const tril::projection projection(ctx, {.in = in, .out = width, .weight = w_o.data(), .bias = bias.data()});
  std::vector<float> stepwise(tokens * width), at_once(tokens * width);
  tril::status st = step(ctx, projection, 0, prompt, stepwise);
  for (int64_t token = prompt; st && token < tokens; ++token) st = step(ctx, projection, token, token + 1, stepwise);
  if (st) st = step(ctx, projection, 0, tokens, at_once);
  if (!st) {
    std::fprintf(stderr, "%s\n", st.message());
    return 1;
  }
  const bool same = std::memcmp(stepwise.data(), at_once.data(), at_once.size() * sizeof(float)) == 0;

  double largest = 0;
  for (const int64_t row : {int64_t{0}, int64_t{33}, tokens - 1}) {
    const std::vector<double> expected = by_definition(row);
    for (int64_t o = 0; o < width; ++o)
      largest = std::max(largest, std::abs(double{at_once[std::size_t(row * width + o)]} - expected[std::size_t(o)]));
  }
  std::printf(
      "%d heads of %d projected to %d: %d tokens prefilled and %d decoded, %s the bits of one prefill; largest "
      "error %.1e\n",
      int{q_heads}, int{dim}, int{width}, int{prompt}, int{tokens - prompt}, same ? "with" : "without", largest);
  // Of sums of `in` products of size 1 / sqrt(in): each rounding is one of 2^-24, and errors grow no faster than
  // theirs.
  return same && largest <= double{in} * 0x1p-24 ? 0 : 1;
}
