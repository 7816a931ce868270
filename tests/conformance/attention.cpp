/// Attention as the ONNX operator of that name has it, by vectors of its reference implementation.

#include <algorithm>

#include "conformance/vectors.hpp"
#include "reference/attention.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

void copy_to(const float_tensor& t, std::span<const float> values) {
  const auto dim = static_cast<std::size_t>(t.layout().extents[3]);
  REQUIRE(values.size() == t.elements().size());
  t.for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
    std::ranges::copy(values.first(dim), t.row(batch, token, head).begin());
    values = values.subspan(dim);
  });
}

workload workload_of(const test_vector& t, const storage& how) {
  recipe r = t.made;
  r.q_storage = r.k_storage = r.v_storage = r.out_storage = how;
  workload w(r, 0);
  copy_to(w.q, t.q);
  copy_to(w.k, t.k);
  copy_to(w.v, t.v);
  return w;
}

/// How far two float32 results may be apart: each is within the definition's bound.
std::vector<double> twice_the_bound(const workload& w) {
  std::vector<double> bound;
  w.for_each_row([&](std::int64_t sequence, std::int64_t row, std::int64_t head) {
    for (const double x : reference::attention(reference::row_of(w.problem(), w.data(), sequence, row, head)).out_bound)
      bound.push_back(2 * x);
  });
  return bound;
}

bool at(const recipe& r, std::int32_t offset) { return !r.query_offset.empty() && r.query_offset.front() == offset; }

}  // namespace

TEST_CASE("The outputs of the operator's own test cases, with heads behind and in front of the tokens") {
  const context ctx = context_under_test();
  for (const test_vector& t : read_vectors())
    for (const storage& how : {token_major, head_major}) {
      INFO(t.name);
      workload w = workload_of(t, how);
      require(verify(ctx, w));
      const std::vector<double> expected(t.out.begin(), t.out.end());
      require(
          compare_within(w.out.elements(), expected, twice_the_bound(w), static_cast<std::size_t>(t.made.value_dim)));
    }
}

TEST_CASE("The test cases show all that the operator and tril have in common") {
  const struct {
    const char* what;
    bool (*shown_by)(const recipe&);
  } features[] = {
      {"no mask", [](const recipe& r) { return !r.causal; }},
      {"groups", [](const recipe& r) { return r.q_heads > r.kv_heads && r.kv_heads > 1; }},
      {"values of another size", [](const recipe& r) { return r.value_dim != r.dim; }},
      {"a scale", [](const recipe& r) { return r.scale.has_value(); }},
      {"row 0 at key 0", [](const recipe& r) { return r.causal && at(r, 0) && r.keys > r.rows; }},
      {"a past", [](const recipe& r) { return r.causal && !r.query_offset.empty() && !at(r, 0); }},
      {"decode", [](const recipe& r) { return r.causal && r.rows == 1 && !r.kv_lengths.empty(); }},
      {"fewer keys than rows",
       [](const recipe& r) { return r.causal && r.kv_lengths == std::vector{2} && r.rows > 2; }},
      {"a causal window", [](const recipe& r) { return r.causal && r.window.left > 0; }},
      {"a window to both sides", [](const recipe& r) { return !r.causal && r.window.left > 0 && r.window.right > 0; }},
  };
  const std::vector<test_vector> vectors = read_vectors();
  for (const auto& feature : features) {
    INFO(feature.what);
    CHECK(std::ranges::any_of(vectors, feature.shown_by, &test_vector::made));
  }
}
