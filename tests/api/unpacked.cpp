/// Heads whose packed keys and values alone would break the cap of the workspace.

#include <cstring>
#include <random>
#include <vector>

#include "reference/canonical.hpp"
#include "support/context.hpp"
#include "support/generators.hpp"
#include "support/require.hpp"
#include "tril/attention.hpp"

using namespace tril;
using namespace tril::test;

TEST_CASE("A head that is too large to be packed stays within the cap, and has the same bits") {
  const context ctx = context_under_test(2);
  // Neighbouring keys overlap in memory, so that many large ones need little of it.
  constexpr std::int64_t rows = 37, keys = 16500, dim = 1024, value_dim = 20;
  std::mt19937 random(seed());
  std::normal_distribution<float> normal(0.0f, 0.3f);
  const auto filled = [&](std::int64_t count) {
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& value : x) value = normal(random);
    return x;
  };
  const std::vector<float> q = filled(rows * dim), k = filled(keys + dim), v = filled(keys + value_dim);
  std::vector<float> out(rows * value_dim);
  tensor k_view = bthd(k.data(), 1, keys, 1, dim), v_view = bthd(v.data(), 1, keys, 1, value_dim);
  k_view.layout.strides[1] = v_view.layout.strides[1] = 1;
  const problem p = {.q = bthd(q.data(), 1, rows, 1, dim).layout,
                     .kv = {.k = k_view.layout, .v = v_view.layout},
                     .out = bthd(out.data(), 1, rows, 1, value_dim).layout};
  const plan whole(ctx, p);
  CHECK(whole.workspace_bytes() < (std::size_t{64} << 20) + 2 * (std::size_t{2} << 20));
  const run_data data = {.q = q.data(), .kv = {k.data(), v.data()}, .out = out.data()};
  require(whole.run(data));
  for (const std::int64_t row : {std::int64_t{0}, rows / 2, rows - 1}) {
    const auto expected = reference::canonical(kernels_of(ctx).fused, reference::row_of(p, data, 0, row, 0));
    CAPTURE(row);
    CHECK(std::memcmp(expected.out.data(), out.data() + row * value_dim, value_dim * sizeof(float)) == 0);
  }
}
