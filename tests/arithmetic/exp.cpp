/// The exponential and the multiply-add of each instruction set against the plain text, bit for bit.

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "dispatch/registry.hpp"
#include "numeric/canon.hpp"
#include "support/catch.hpp"
#include "support/context.hpp"

using namespace tril;

namespace {

constexpr std::uint32_t negative_zero = 0x80000000u, end_of_floats = 0xFFFFFFFFu;

template <bool Fused>
[[gnu::always_inline]] inline void canonical(const float* x, float* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = numeric::exp32<Fused>(x[i]);
}

void unfused(const float* x, float* y, std::size_t count) { canonical<false>(x, y, count); }
#if defined(__x86_64__)
// An instruction set of the fused family is under test, so the machine has fma; without it this takes minutes.
[[gnu::target("avx2,fma")]]
#endif
void fused(const float* x, float* y, std::size_t count) {
  canonical<true>(x, y, count);
}

bool same(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

/// The first float with bits in [first, last] whose exponential differs from the plain text; 0 if none does.
/// NaN to some NaN is the same: which one is settled when results are written.
std::uint32_t first_difference(const contract::kernel_table& kernels, std::uint64_t first, std::uint64_t last) {
  constexpr std::size_t step = 4096;
  std::vector<float> x(step), expected(step), y(step);
  for (std::uint64_t bits = first; bits <= last; bits += step) {
    for (std::size_t i = 0; i < step; ++i)
      x[i] = numeric::bits_as<float>(static_cast<std::uint32_t>(std::min(bits + i, last)));
    (kernels.fused ? fused : unfused)(x.data(), expected.data(), step);
    y = x;
    kernels.exp(y.data(), static_cast<std::int64_t>(step));
    if (std::memcmp(y.data(), expected.data(), step * sizeof(float)) == 0) continue;
    for (std::size_t i = 0; i < step; ++i)
      if (!same(y[i], expected[i])) return numeric::bits_as<std::uint32_t>(x[i]);
  }
  return 0;
}

}  // namespace

TEST_CASE("The exponential of every float up to 0, and of every NaN, has the canonical bits") {
  const context ctx = test::context_under_test();
  const contract::kernel_table& kernels = *dispatch::find(ctx.isa())->kernels;
  const std::uint64_t middle = negative_zero + (end_of_floats - negative_zero) / 2;
  std::uint32_t lower = 0, upper = 0;
  std::thread half([&] { lower = first_difference(kernels, negative_zero, middle); });
  upper = first_difference(kernels, middle + 1, end_of_floats);  // -inf and negative NaN among them
  half.join();
  const std::uint32_t positive_nan = first_difference(kernels, 0x7F800001u, 0x7FFFFFFFu);
  CAPTURE(lower, upper, positive_nan);
  CHECK(lower == 0);
  CHECK(upper == 0);
  CHECK(positive_nan == 0);
}

TEST_CASE("A multiply-add is rounded once in the fused family, twice in the other") {
  const context ctx = test::context_under_test();
  const contract::kernel_table& kernels = *dispatch::find(ctx.isa())->kernels;
  // (1 + u)^2 - (1 + 2u) = u^2 exactly; rounded after the product, 0. As a dot product of two dimensions.
  constexpr float u = 0x1p-12f;
  const std::int64_t rows = kernels.tiles.qk_rows, panels = kernels.tiles.qk_panels;
  std::vector<float> q(static_cast<std::size_t>(2 * rows), 1.0f + u);
  std::fill_n(q.begin(), rows, 1.0f);
  std::vector<float> panel(2 * numeric::panel_keys, 1.0f + u);
  std::fill_n(panel.begin(), numeric::panel_keys, -(1.0f + 2 * u));
  const std::vector<const void*> k(static_cast<std::size_t>(panels), panel.data());
  std::vector<float> scores(static_cast<std::size_t>(rows * numeric::split_keys));
  kernels.qk({q.data(), k.data(), 2, scores.data()});
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t key = 0; key < panels * numeric::panel_keys; ++key)
      REQUIRE(scores[static_cast<std::size_t>(row * numeric::split_keys + key)] == (kernels.fused ? u * u : 0.0f));
}
