#include "kernels/kernels.hpp"
#include "support/catch.hpp"
#include "support/generators.hpp"
#include "support/guarded.hpp"

using namespace tril;
using namespace tril::test;
using contract::panel_keys;
using contract::split_keys;

TEST_CASE("qk is one chain of multiply-adds per score, in ascending order of dimensions") {
  const contract::kernel_table& kernels = kernels_under_test();
  const auto rows = static_cast<std::size_t>(kernels.tiles.qk_rows);
  const auto panels = static_cast<std::size_t>(kernels.tiles.qk_panels);
  for (const std::int64_t dim : {1, 2, 3, 4, 5, 7, 8, 13, 16, 33, 64, 127, 128, 1024})
    for (const values kind : {values::uniform, values::lognormal, values::subnormal}) {
      CAPTURE(dim, name_of(kind));
      const auto size = static_cast<std::size_t>(dim);
      const std::vector<float> queries = generate(kind, size * rows, derived_seed(seed(), 1));
      const guarded<float> q{std::span<const float>(queries)};  // [dim][rows]
      std::vector<guarded<float>> k;                            // [dim][16] each
      std::vector<const void*> k_panels;
      for (std::uint32_t p = 0; p < panels; ++p) {
        k.emplace_back(std::span<const float>(generate(kind, size * panel_keys, derived_seed(seed(), 2 + p))));
        k_panels.push_back(k.back().data());
      }
      k[0][panel_keys - 1] = quiet_nan;  // stays in its own key's scores
      const guarded<float> scores((rows - 1) * split_keys + panels * panel_keys, touching::end, canary);
      kernels.qk({q.data(), k_panels.data(), dim, scores.data()});
      std::size_t wrong = 0;
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < (row + 1 < rows ? split_keys : panels * panel_keys); ++column) {
          const float score = scores[row * split_keys + column];
          if (column >= panels * panel_keys) {
            wrong += bits(score) != canary;
            continue;
          }
          float expected = 0.0f;
          for (std::size_t c = 0; c < size; ++c)
            expected = fma(kernels.fused, q[c * rows + row],
                           k[column / panel_keys][c * panel_keys + column % panel_keys], expected);
          wrong += expected != expected ? score == score : bits(score) != bits(expected);
        }
      REQUIRE(wrong == 0);
    }
}
