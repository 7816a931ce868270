/// A block of rows against the splits of a sequence, by each way through the kernels: packed panels, views of rows as
/// they lie, and partial states. Who sees which key is drawn at random, key by key and row by row.

#include <algorithm>
#include <optional>

#include "kernels/kernels.hpp"
#include "reference/canonical.hpp"
#include "support/generators.hpp"
#include "support/guarded.hpp"
#include "support/require.hpp"
#include "support/shapes.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;
using contract::panel_keys;
using contract::panels_per_split;
using contract::split_keys;

namespace {

struct block_shape {
  std::int64_t rows, keys, dim, value_dim;
};

/// What a panel of keys is to the rows of a block.
enum class view { hidden, edge, full };

class block_problem {
 public:
  block_problem(const contract::kernel_table& kernels, const block_shape& shape, values v_values, std::uint32_t seed)
      : kernels_(kernels),
        shape_(shape),
        q_(shape.rows * shape.dim, values::uniform, derived_seed(seed, 1)),
        k_(shape.keys * shape.dim, values::uniform, derived_seed(seed, 2)),
        v_(shape.keys * shape.value_dim, v_values, derived_seed(seed, 3)),
        out_(static_cast<std::size_t>(shape.rows * shape.value_dim), touching::end, canary),
        lse_(static_cast<std::size_t>(shape.rows), touching::end, canary),
        sinks_(static_cast<std::size_t>(shape.rows), -infinity),
        seen_(static_cast<std::size_t>(shape.rows * shape.keys)) {
    draw_masks(derived_seed(seed, 4));
    poison_what_nobody_sees();
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      const auto i = static_cast<std::size_t>(row);
      rows_.push_back({.q = q_.at(row * shape.dim),
                       .out = out_.data() + row * shape.value_dim,
                       .lse = &lse_[i],
                       .bias = nullptr,
                       .position = 0,
                       .slope = 0.0f,
                       .sink = sinks_[i]});
    }
  }

  /// Keys and values in packed panels.
  void attend_panels() const {
    begin(kernels_.block_bytes(shape_.dim, shape_.value_dim));
    for (std::int64_t split = 0; split < splits(); ++split) attend_panels_of(split);
    kernels_.finish_rows(block_);
  }

  /// Keys and values where they lie.
  void attend_views() const {
    begin(kernels_.view_bytes(shape_.dim, shape_.value_dim));
    for (std::int64_t split = 0; split < splits(); ++split) attend_views_of(split);
    kernels_.finish_rows(block_);
  }

  /// Each split on its own, the states joined afterwards.
  void attend_and_fold() const {
    const auto state_floats = static_cast<std::size_t>(shape_.rows * (2 + contract::padded_columns(shape_.value_dim)));
    std::vector<guarded<float>> states;
    for (std::int64_t split = 0; split < splits(); ++split) {
      begin(kernels_.view_bytes(shape_.dim, shape_.value_dim));
      attend_views_of(split);
      states.emplace_back(state_floats);
      kernels_.save_rows(block_, states.back().data());
    }
    begin(kernels_.view_bytes(shape_.dim, shape_.value_dim));
    for (const guarded<float>& state : states) kernels_.fold_rows(block_, state.data());
    kernels_.finish_rows(block_);
  }

  void check(void (block_problem::*attend)() const) {
    std::ranges::fill(out_.memory().reachable_words(), canary);
    std::ranges::fill(lse_.memory().reachable_words(), canary);
    (this->*attend)();
    float_rows expected;
    for (std::int64_t row = 0; row < shape_.rows; ++row) {
      const reference::float_row r = reference::canonical(kernels_.fused, reference_row(row));
      expected.out.insert(expected.out.end(), r.out.begin(), r.out.end());
      expected.lse.push_back(r.lse);
    }
    require(
        compare_bits({{out_.span().begin(), out_.span().end()}, {lse_.span().begin(), lse_.span().end()}}, expected));
    for (const auto* memory : {&out_.memory(), &lse_.memory()}) {
      const auto* first = reinterpret_cast<const std::uint32_t*>(memory->data());
      for (const std::uint32_t& word : memory->reachable_words())
        if (&word < first) REQUIRE(word == canary);
    }
  }

 private:
  /// Vectors one behind the other.
  struct vectors : guarded<float> {
    vectors(std::int64_t count, values kind, std::uint32_t seed)
        : guarded<float>(std::span<const float>(generate(kind, static_cast<std::size_t>(count), seed))) {}
    float* at(std::int64_t i) const { return data() + i; }
  };

  std::int64_t splits() const { return (shape_.keys + split_keys - 1) / split_keys; }
  std::int64_t panels() const { return (shape_.keys + panel_keys - 1) / panel_keys; }
  std::int64_t keys_of(std::int64_t panel) const {
    return std::min<std::int64_t>(panel_keys, shape_.keys - panel * panel_keys);
  }
  std::uint8_t& sees(std::int64_t row, std::int64_t key) {
    return seen_[static_cast<std::size_t>(row * shape_.keys + key)];
  }

  void draw_masks(std::uint32_t seed) {
    lcg random(seed);
    for (std::int64_t panel = 0; panel < panels(); ++panel) {
      const view kind = random.one_in(4) ? view::hidden : random.one_in(2) ? view::full : view::edge;
      masks_.emplace_back(static_cast<std::size_t>(shape_.rows));
      unsigned any = 0;
      for (std::int64_t row = 0; row < shape_.rows; ++row) {
        // Some rows see nothing of a panel that others look at, and most of some.
        const std::int64_t density = random.between(0, 4);
        std::uint16_t& mask = masks_.back()[static_cast<std::size_t>(row)];
        for (std::int64_t key = 0; key < keys_of(panel); ++key) {
          const bool visible = kind == view::full || (kind == view::edge && random.below(4) < density);
          sees(row, panel * panel_keys + key) = visible;
          mask = static_cast<std::uint16_t>(mask | (visible ? 1u << key : 0u));
        }
        any |= mask;
      }
      const bool whole = kind == view::full && keys_of(panel) == panel_keys;
      kinds_.push_back(any == 0 ? view::hidden : whole ? view::full : view::edge);
    }
    for (float& sink : sinks_)
      if (random.one_in(2)) sink = 3.0f * random.normal();
  }

  void poison_what_nobody_sees() {
    for (std::int64_t key = 0; key < shape_.keys; ++key) {
      bool seen = false;
      for (std::int64_t row = 0; row < shape_.rows; ++row) seen |= sees(row, key) != 0;
      if (seen) continue;
      std::fill_n(k_.at(key * shape_.dim), shape_.dim, quiet_nan);
      std::fill_n(v_.at(key * shape_.value_dim), shape_.value_dim, quiet_nan);
    }
  }

  void begin(std::size_t scratch_bytes) const {
    const auto on_lines = static_cast<std::size_t>(contract::round_up(static_cast<std::int64_t>(scratch_bytes), 64));
    scratch_.emplace(on_lines, touching::end, poison);
    block_ = {.rows = rows_.data(),
              .count = static_cast<std::int32_t>(shape_.rows),
              .dim = static_cast<std::int32_t>(shape_.dim),
              .value_dim = static_cast<std::int32_t>(shape_.value_dim),
              .scale = 0.7f,
              .soft_cap = 0.0f,
              .has_slopes = false,
              .scratch = scratch_->data()};
    kernels_.begin_rows(block_);
  }

  /// Calls use(panel) for the panels of a split that somebody sees.
  template <class Use>
  void for_each_panel(std::int64_t split, Use use) const {
    const std::int64_t first = split * panels_per_split;
    for (std::int64_t panel = first; panel < std::min(first + panels_per_split, panels()); ++panel)
      if (kinds_[static_cast<std::size_t>(panel)] != view::hidden) use(panel);
  }

  const std::uint16_t* masks_of(std::int64_t panel) const {
    const auto i = static_cast<std::size_t>(panel);
    return kinds_[i] == view::full ? nullptr : masks_[i].data();
  }

  void attend_panels_of(std::int64_t split) const {
    std::vector<guarded<float>> packed;
    std::vector<contract::key_panel> list;
    for_each_panel(split, [&](std::int64_t panel) {
      const void *k_rows[panel_keys], *v_rows[panel_keys];
      const auto count = static_cast<std::int32_t>(keys_of(panel));
      for (std::int64_t key = 0; key < count; ++key) {
        k_rows[key] = k_.at((panel * panel_keys + key) * shape_.dim);
        v_rows[key] = v_.at((panel * panel_keys + key) * shape_.value_dim);
      }
      packed.emplace_back(static_cast<std::size_t>(contract::k_panel_elements(shape_.dim)));
      kernels_.pack_k({k_rows, count, block_.dim, packed.back().data()});
      const float* k = packed.back().data();
      packed.emplace_back(static_cast<std::size_t>(contract::v_panel_elements(shape_.value_dim)));
      const bool finite = kernels_.pack_v({v_rows, count, block_.value_dim, packed.back().data()});
      list.push_back({.k = k,
                      .v = packed.back().data(),
                      .k_scales = nullptr,
                      .v_scales = nullptr,
                      .row_masks = masks_of(panel),
                      .slot = static_cast<std::int32_t>(panel % panels_per_split),
                      .v_finite = finite});
    });
    if (!list.empty())
      kernels_.attend_split(block_, {list.data(), static_cast<std::int32_t>(list.size()), split * split_keys});
  }

  void attend_views_of(std::int64_t split) const {
    std::vector<std::vector<const void*>> pointers;
    std::vector<contract::view_panel> list;
    pointers.reserve(2 * panels_per_split + 1);
    const auto rows_at = [&](const vectors& t, std::int64_t first, std::int64_t count, std::int64_t extent) {
      pointers.emplace_back();
      for (std::int64_t key = first; key < first + count; ++key) pointers.back().push_back(t.at(key * extent));
      return pointers.back().data();
    };
    for_each_panel(split, [&](std::int64_t panel) {
      const std::int64_t first = panel * panel_keys, count = keys_of(panel);
      list.push_back({.k = rows_at(k_, first, count, shape_.dim),
                      .v = rows_at(v_, first, count, shape_.value_dim),
                      .k_scales = nullptr,
                      .v_scales = nullptr,
                      .row_masks = masks_of(panel),
                      .count = static_cast<std::int32_t>(count)});
    });
    const std::int64_t next = (split + 1) * split_keys;
    const void* const* next_keys =
        next + panel_keys <= shape_.keys ? rows_at(k_, next, panel_keys, shape_.dim) : nullptr;
    if (!list.empty())
      kernels_.attend_views(block_,
                            {list.data(), static_cast<std::int32_t>(list.size()), split * split_keys, next_keys});
  }

  reference::row reference_row(std::int64_t row) const {
    reference::row r = {.q = q_.at(row * shape_.dim),
                        .k = {k_.data(), shape_.dim},
                        .v = {v_.data(), shape_.value_dim},
                        .dim = shape_.dim,
                        .value_dim = shape_.value_dim,
                        .keys = shape_.keys,
                        .position = 0,
                        .visible = {{0, shape_.keys}},
                        .mask = &seen_[static_cast<std::size_t>(row * shape_.keys)],
                        .scale = 0.7f};
    r.sink = sinks_[static_cast<std::size_t>(row)];
    return r;
  }

  const contract::kernel_table& kernels_;
  block_shape shape_;
  vectors q_, k_, v_;
  guarded<float> out_, lse_;
  std::vector<float> sinks_;
  std::vector<std::uint8_t> seen_;                 // [rows][keys]
  std::vector<std::vector<std::uint16_t>> masks_;  // per panel and row
  std::vector<view> kinds_;                        // per panel
  std::vector<contract::query_row> rows_;
  mutable std::optional<guarded_memory> scratch_;
  mutable contract::row_block block_;
};

/// Shapes at which something begins or ends, and some at random.
std::vector<block_shape> shapes(const contract::tile_sizes& tiles) {
  std::vector<block_shape> all;
  for (std::int64_t rows = 1; rows <= tiles.block_rows; ++rows)
    all.push_back({rows, 40 + rows, 1 + rows % 5, 17 + rows});
  for (const std::int64_t keys : {1, 15, 16, 17, 255, 256, 257, 600}) all.push_back({5, keys, 3, 16});
  for (const std::int64_t value_dim : {1, 15, 16, 17, 32, 48, 63, 64, 65, 80, 112, 128, 130, 1024})
    all.push_back({std::min(5, tiles.block_rows), 35, 4, value_dim});
  for (const std::int64_t dim : {1, 2, 15, 16, 17, 100, 1024}) all.push_back({2, 35, dim, 8});
  return all;
}

void check_all(void (block_problem::*attend)() const) {
  const contract::kernel_table& kernels = kernels_under_test();
  std::uint32_t i = 0;
  for (const block_shape& shape : shapes(kernels.tiles))
    for (const values v : {values::uniform, values::nan, values::inf, values::subnormal}) {
      CAPTURE(shape.rows, shape.keys, shape.dim, shape.value_dim, name_of(v));
      block_problem(
          kernels,
          {std::min<std::int64_t>(shape.rows, kernels.tiles.block_rows), shape.keys, shape.dim, shape.value_dim}, v,
          derived_seed(seed(), ++i))
          .check(attend);
    }
}

}  // namespace

TEST_CASE("A block of rows attends to packed panels") { check_all(&block_problem::attend_panels); }

TEST_CASE("A block of rows attends to keys and values as they lie") { check_all(&block_problem::attend_views); }

TEST_CASE("Partial states of splits, saved and folded, are the undivided result") {
  check_all(&block_problem::attend_and_fold);
}
