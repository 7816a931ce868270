/// What becomes of zeros, subnormals, infinities and NaN among the values.

#include <cfloat>

#include "api/seen.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// The bits of a row that sees these values with equal weights, by the way of few rows and by that of many.
std::vector<std::uint32_t> mean_bits(const context& ctx, const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const std::int64_t rows : {1, 25}) {
    workload w({.rows = rows, .keys = std::ssize(values), .dim = 3, .value_dim = 1, .causal = false}, seed());
    make_zero(w.q);
    for (std::size_t key = 0; key < values.size(); ++key) w.v.at(0, static_cast<std::int64_t>(key), 0, 0) = values[key];
    require(verify(ctx, w));
    bits.push_back(numeric::bits_as<std::uint32_t>(w.out.at(0, rows - 1, 0, 0)));
  }
  return bits;
}

std::vector<std::uint32_t> twice(float x) { return std::vector(2, numeric::bits_as<std::uint32_t>(x)); }

const std::vector<std::uint32_t> twice_canonical_nan(2, 0x7FC00000u);

}  // namespace

TEST_CASE("Zeros come out positive") {
  const context ctx = context_under_test();
  CHECK(mean_bits(ctx, {-0.0f}) == twice(0.0f));
  CHECK(mean_bits(ctx, {-0.0f, -0.0f, -0.0f}) == twice(0.0f));
  CHECK(mean_bits(ctx, {1.0f, -1.0f}) == twice(0.0f));
  CHECK(mean_bits(ctx, {-0x1p-149f, 0.0f, 0.0f, 0.0f}) == twice(0.0f));  // a quotient that rounds to -0.0
}

TEST_CASE("Subnormal values are kept, and the largest float is") {
  const context ctx = context_under_test();
  CHECK(mean_bits(ctx, {0x1p-149f}) == twice(0x1p-149f));
  CHECK(mean_bits(ctx, {-0x1p-148f, -0x1p-147f}) == twice(-0x3p-149f));
  CHECK(mean_bits(ctx, {FLT_MAX}) == twice(FLT_MAX));
  CHECK(mean_bits(ctx, {-FLT_MAX}) == twice(-FLT_MAX));
}

TEST_CASE("Infinite values give infinities, or NaN where they contradict one another") {
  const context ctx = context_under_test();
  CHECK(mean_bits(ctx, {1.0f, infinity, 2.0f}) == twice(infinity));
  CHECK(mean_bits(ctx, {-infinity, -infinity}) == twice(-infinity));
  CHECK(mean_bits(ctx, {infinity, -infinity}) == twice_canonical_nan);
}

TEST_CASE("Every NaN comes out as the canonical one") {
  const context ctx = context_under_test();
  for (const std::uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7FFFFFFFu, 0xFFFFFFFFu, 0x7F800001u, 0xFFA5A5A5u}) {
    CAPTURE(nan);
    CHECK(mean_bits(ctx, {numeric::bits_as<float>(nan)}) == twice_canonical_nan);
    CHECK(mean_bits(ctx, {1.0f, numeric::bits_as<float>(nan), infinity}) == twice_canonical_nan);
  }
}
