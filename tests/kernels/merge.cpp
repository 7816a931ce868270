#include <algorithm>
#include <cmath>

#include "kernels/kernels.hpp"
#include "support/catch.hpp"
#include "support/generators.hpp"
#include "support/guarded.hpp"
#include "support/shapes.hpp"

using namespace tril;
using namespace tril::test;

namespace {

struct merged_row {
  std::vector<float> out;
  float lse;
};

merged_row expected_merge(bool fused, std::span<const float> a, float a_lse, std::span<const float> b, float b_lse) {
  if (a_lse == -infinity) return {{b.begin(), b.end()}, b_lse};
  if (b_lse == -infinity) return {{a.begin(), a.end()}, a_lse};
  const float m = std::max(a_lse, b_lse);
  const float a_weight = exp32(fused, a_lse - m), b_weight = exp32(fused, b_lse - m), sum = a_weight + b_weight;
  merged_row r;
  for (std::size_t c = 0; c < a.size(); ++c) {
    const float weighted_a = a_weight * a[c], weighted_b = b_weight * b[c];
    r.out.push_back((weighted_a + weighted_b) / sum);
  }
  r.lse = numeric::log_sum_exp(m, sum);
  return r;
}

}  // namespace

TEST_CASE("merge joins two rows, into a third or into one of them") {
  const contract::kernel_table& kernels = kernels_under_test();
  std::vector<std::int64_t> value_dims = around(16);
  for (const std::int64_t value_dim : {5, 100, 1024}) value_dims.push_back(value_dim);
  const std::pair<float, float> lses[] = {
      {0.0f, 0.0f},      {1.5f, -2.25f},         {-300.0f, 80.0f},    {-infinity, -3.0f},
      {7.0f, -infinity}, {-infinity, -infinity}, {-90.0f, -90.0001f}, {1e30f, std::nextafter(1e30f, 0.0f)}};
  for (const std::int64_t value_dim : value_dims)
    for (const auto& [a_lse, b_lse] : lses)
      for (const int into : {0, 1, 2}) {
        CAPTURE(value_dim, a_lse, b_lse, into);
        const auto count = static_cast<std::size_t>(value_dim);
        const guarded<float> a{std::span<const float>(generate(values::lognormal, count, derived_seed(seed(), 1)))};
        const guarded<float> b{std::span<const float>(generate(values::lognormal, count, derived_seed(seed(), 2)))};
        const guarded<float> fresh(count);
        const merged_row expected = expected_merge(kernels.fused, a.span(), a_lse, b.span(), b_lse);
        const guarded<float>& out = into == 0 ? a : into == 1 ? b : fresh;
        float lse = quiet_nan;
        kernels.merge({a.data(), b.data(), a_lse, b_lse, out.data(), &lse, static_cast<std::int32_t>(value_dim)});
        REQUIRE(std::ranges::equal(out.span(), expected.out, [](float x, float y) { return bits(x) == bits(y); }));
        REQUIRE(bits(lse) == bits(expected.lse));
      }
}
