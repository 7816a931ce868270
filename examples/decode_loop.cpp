// Decode: a prompt is prefilled, then tokens are added one by one to a growing KV cache. A step makes one plan
// and runs it for every layer. Nothing is recomputed, and nothing is lost: the last token has the bits that one
// prefill of everything gives it.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <tril/tril.hpp>
#include <vector>

namespace {

constexpr int64_t prompt = 300, tokens = 340, q_heads = 8, kv_heads = 2, dim = 64;

std::vector<float> normal(int64_t size, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> values(static_cast<std::size_t>(size));
  std::generate(values.begin(), values.end(), [&] { return distribution(bits); });
  return values;
}

/// The queries, keys and values that a layer's projections would give, and its cache: memory for all tokens,
/// filled as they come.
struct layer {
  explicit layer(unsigned seed)
      : q(normal(tokens * q_heads * dim, seed)),
        new_k(normal(tokens * kv_heads * dim, seed + 1)),
        new_v(normal(tokens * kv_heads * dim, seed + 2)) {}

  std::vector<float> q, new_k, new_v;
  std::vector<float> k = std::vector<float>(new_k.size()), v = k;
  std::vector<float> out = std::vector<float>(q.size());
};

/// Tokens first ... last - 1 arrive: their keys and values join the cache, their rows attend to all of it.
tril::status step(const tril::context& ctx, std::vector<layer>& model, int64_t first, int64_t last) {
  const int32_t length[] = {static_cast<int32_t>(last)};  // of the cache; the rows are the last of its positions
  const tril_layout rows = tril_bthd(TRIL_F32, 1, last - first, q_heads, dim);
  const tril_layout cache = tril_bthd(TRIL_F32, 1, tokens, kv_heads, dim);
  const tril::plan plan(ctx, {.q = rows, .kv = {.k = cache, .v = cache, .lengths = length}, .out = rows});
  if (!plan) return plan.status();

  for (layer& l : model) {
    const auto begin = first * kv_heads * dim, end = last * kv_heads * dim;
    std::copy(l.new_k.begin() + begin, l.new_k.begin() + end, l.k.begin() + begin);
    std::copy(l.new_v.begin() + begin, l.new_v.begin() + end, l.v.begin() + begin);
    const tril::status st = plan.run({.q = l.q.data() + first * q_heads * dim,
                                      .kv = {l.k.data(), l.v.data()},
                                      .out = l.out.data() + first * q_heads * dim});
    if (!st) return st;
  }
  return {};
}

}  // namespace

int main() {
  const tril::context ctx;
  std::vector<layer> stepwise = {layer(10), layer(20), layer(30)}, at_once = stepwise;
  tril::status st = step(ctx, stepwise, 0, prompt);
  for (int64_t token = prompt; st && token < tokens; ++token) st = step(ctx, stepwise, token, token + 1);
  if (st) st = step(ctx, at_once, 0, tokens);
  if (!st) {
    std::fprintf(stderr, "%s\n", st.message());
    return 1;
  }

  int same = 0;
  for (std::size_t i = 0; i < stepwise.size(); ++i) {
    const std::size_t last = stepwise[i].out.size() - q_heads * dim;
    same += std::memcmp(&stepwise[i].out[last], &at_once[i].out[last], q_heads * dim * sizeof(float)) == 0;
  }
  std::printf("%d tokens prefilled, %d decoded, last token bit-identical to one prefill in %d of %d layers\n",
              int{prompt}, int{tokens - prompt}, same, int(stepwise.size()));
  return same == int(stepwise.size()) ? 0 : 1;
}
