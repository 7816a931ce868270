#include "kernels/kernels.hpp"
#include "support/catch.hpp"
#include "support/generators.hpp"
#include "support/guarded.hpp"

using namespace tril;
using namespace tril::test;
using contract::panel_keys;
using contract::split_keys;

TEST_CASE("pv is one chain of multiply-adds per element, in ascending order of keys") {
  const contract::kernel_table& kernels = kernels_under_test();
  const auto rows = static_cast<std::size_t>(kernels.tiles.qk_rows);
  const std::int64_t columns = kernels.tiles.pv_columns;
  const auto padded = static_cast<std::size_t>(contract::padded_columns(columns));
  for (std::size_t panels = 1; panels <= contract::panels_per_split; ++panels)
    for (const values kind : {values::uniform, values::lognormal, values::subnormal}) {
      CAPTURE(panels, name_of(kind));
      const std::vector<float> random_weights = generate(values::uniform, rows * split_keys, derived_seed(seed(), 1));
      const guarded<float> weights{std::span<const float>(random_weights)};
      std::vector<guarded<float>> v;
      std::vector<const void*> v_panels;
      for (std::uint32_t p = 0; p < panels; ++p) {
        const auto elements = static_cast<std::size_t>(contract::v_panel_elements(columns));
        v.emplace_back(std::span<const float>(generate(kind, elements, derived_seed(seed(), 2 + p))));
        v_panels.push_back(v.back().data());
      }
      const guarded<float> out(rows * padded, touching::end, 0);
      kernels.pv({weights.data(), v_panels.data(), static_cast<std::int32_t>(panels), out.data()});
      std::size_t wrong = 0;
      for (std::size_t row = 0; row < rows; ++row)
        for (std::int64_t c = 0; c < columns; ++c) {
          float expected = 0.0f;
          for (std::size_t key = 0; key < panels * panel_keys; ++key) {
            const auto at =
                static_cast<std::size_t>(contract::v_offset(columns, static_cast<std::int64_t>(key % panel_keys), c));
            expected = fma(kernels.fused, weights[row * split_keys + key], v[key / panel_keys][at], expected);
          }
          wrong += bits(out[row * padded + static_cast<std::size_t>(c)]) != bits(expected + 0.0f);
        }
      REQUIRE(wrong == 0);
    }
}
