#include <vector>

#include "kernels/kernels.hpp"
#include "support/catch.hpp"
#include "support/generators.hpp"
#include "support/guarded.hpp"
#include "support/shapes.hpp"

using namespace tril;
using namespace tril::test;
using contract::panel_keys;

namespace {

/// Rows of keys or values, each in memory of its own that ends, or begins, at an unreadable page.
struct rows_to_pack {
  std::vector<guarded<float>> memory;
  std::vector<const void*> rows;
  std::int32_t count, extent;

  rows_to_pack(std::int32_t row_count, std::int32_t row_extent, touching where) : count(row_count), extent(row_extent) {
    for (std::int32_t row = 0; row < count; ++row) {
      const auto own_seed = derived_seed(seed(), static_cast<std::uint32_t>(row));
      memory.emplace_back(std::span<const float>(generate(values::uniform, static_cast<std::size_t>(extent), own_seed)),
                          where);
      rows.push_back(memory.back().data());
    }
  }

  float at(int key, std::int64_t c) const {
    return key < count && c < extent ? memory[static_cast<std::size_t>(key)][static_cast<std::size_t>(c)] : 0.0f;
  }
  contract::pack_args into(float* panel) const { return {rows.data(), count, extent, panel}; }
};

std::vector<std::int64_t> extents() {
  std::vector<std::int64_t> all = around(panel_keys);
  for (const std::int64_t extent : around(contract::column_panel)) all.push_back(extent);
  for (const std::int64_t extent : {2, 3, 5, 7, 8, 9, 12, 47, 48, 49, 80, 96, 200, 1024}) all.push_back(extent);
  return all;
}

template <class Use>
void for_each_shape(Use use) {
  for (const std::int64_t extent : extents())
    for (const std::int32_t count : {1, 2, 7, 15, 16})
      for (const touching where : {touching::end, touching::start}) {
        CAPTURE(extent, count);
        use(rows_to_pack(count, static_cast<std::int32_t>(extent), where));
      }
}

}  // namespace

TEST_CASE("pack_k turns rows into [dim][16], bit for bit, and fills up with zeros") {
  const contract::kernel_table& kernels = kernels_under_test();
  for_each_shape([&](const rows_to_pack& from) {
    // Any bits, NaN with payloads too.
    from.memory[0][0] = numeric::bits_as<float>(canary);
    const guarded<float> panel(static_cast<std::size_t>(contract::k_panel_elements(from.extent)));
    kernels.pack_k(from.into(panel.data()));
    std::size_t wrong = 0;
    for (std::int64_t c = 0; c < from.extent; ++c)
      for (int key = 0; key < panel_keys; ++key)
        wrong += bits(panel[static_cast<std::size_t>(c * panel_keys + key)]) != bits(from.at(key, c));
    REQUIRE(wrong == 0);
  });
}

TEST_CASE("pack_v puts values where the layout has them, bit for bit, and fills up with zeros") {
  const contract::kernel_table& kernels = kernels_under_test();
  for_each_shape([&](const rows_to_pack& from) {
    const guarded<float> panel(static_cast<std::size_t>(contract::v_panel_elements(from.extent)));
    CHECK(kernels.pack_v(from.into(panel.data())));
    std::size_t wrong = 0;
    for (std::int64_t c = 0; c < contract::padded_columns(from.extent); ++c)
      for (int key = 0; key < panel_keys; ++key)
        wrong +=
            bits(panel[static_cast<std::size_t>(contract::v_offset(from.extent, key, c))]) != bits(from.at(key, c));
    REQUIRE(wrong == 0);
  });
}

TEST_CASE("pack_v notices every value that is not finite, and keeps its bits") {
  const contract::kernel_table& kernels = kernels_under_test();
  for_each_shape([&](const rows_to_pack& from) {
    const guarded<float> panel(static_cast<std::size_t>(contract::v_panel_elements(from.extent)));
    const auto with = [&](std::int32_t key, std::int32_t c, float value) {
      float& x = from.memory[static_cast<std::size_t>(key)][static_cast<std::size_t>(c)];
      const float saved = x;
      x = value;
      const bool finite = kernels.pack_v(from.into(panel.data()));
      x = saved;
      const bool kept = bits(panel[static_cast<std::size_t>(contract::v_offset(from.extent, key, c))]) == bits(value);
      return finite && kept ? "finite" : kept ? "not finite" : "changed";
    };
    const std::string_view finite = "finite", not_finite = "not finite";
    const std::int32_t step = from.extent > 100 ? 13 : 1;
    for (std::int32_t c = 0; c < from.extent; c += step)
      for (const std::int32_t key : {0, from.count / 2, from.count - 1}) {
        REQUIRE(with(key, c, quiet_nan) == not_finite);
        REQUIRE(with(key, c, -infinity) == not_finite);
        REQUIRE(with(key, c, numeric::bits_as<float>(canary)) == not_finite);
        REQUIRE(with(key, c, std::numeric_limits<float>::max()) == finite);
        REQUIRE(with(key, c, -0.0f) == finite);
      }
  });
}
