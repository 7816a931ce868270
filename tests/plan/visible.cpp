#include "plan/visible.hpp"

#include <algorithm>
#include <vector>

#include "plan/described.hpp"
#include "plan/property.hpp"

using namespace tril;
using namespace tril::test;
using planning::interval;

namespace {

/// Of the keys that `sees` accepts: the smallest interval that holds them, and how many there are.
struct seen_keys {
  std::int64_t first = INT64_MAX, last = 0, count = 0;

  void note(std::int64_t key) {
    first = std::min(first, key);
    last = std::max(last, key + 1);
    ++count;
  }
  bool are(const interval& keys) const { return count == 0 ? keys.empty() : keys.first == first && keys.last == last; }
};

seen_keys seen_by_rows(const described& d, std::int64_t first_row, std::int64_t last_row) {
  seen_keys seen;
  for (std::int64_t row = first_row; row < last_row; ++row)
    for (std::int64_t key = 0; key < d.sequence.keys; ++key)
      if (d.sees(row, key)) seen.note(key);
  return seen;
}

}  // namespace

TEST_CASE("the keys that a row sees are the interval that the predicate describes") {
  holds_for(2000, [] {
    const described d = *any_description(20, 70);
    for (std::int64_t row = 0; row < d.sequence.rows; ++row) {
      const interval keys = planning::visible_keys(d.planned(), d.sequence.first_position + row, d.sequence.keys);
      RC_ASSERT(keys.first <= keys.last);
      const seen_keys seen = seen_by_rows(d, row, row + 1);
      RC_ASSERT(seen.are(keys));
      RC_ASSERT(seen.count == keys.size());  // no gap
    }
  });
}

TEST_CASE("the keys that rows see lie in the smallest such interval, and their pairs are counted") {
  holds_for(2000, [] {
    const described d = *any_description(20, 70);
    const auto first = *rc::gen::inRange<std::int64_t>(0, d.sequence.rows + 1).as("first row");
    const auto last = *rc::gen::inRange<std::int64_t>(first, d.sequence.rows + 1).as("last row");
    const seen_keys seen = seen_by_rows(d, first, last);
    RC_ASSERT(planning::visible_pairs(d.planned(), d.sequence, first, last) == seen.count);
    if (first < last) RC_ASSERT(seen.are(planning::visible_keys(d.planned(), d.sequence, first, last)));
  });
}

TEST_CASE("pairs that can be counted by hand") {
  const auto pairs = [](std::int64_t rows, std::int64_t keys, std::int64_t left = planning::window::unbounded) {
    return planning::visible_pairs({left, 0}, {rows, keys, keys - rows}, 0, rows);
  };
  CHECK(pairs(512, 512) == 512 * 513 / 2);
  CHECK(pairs(1, 4096) == 4096);
  CHECK(pairs(4, 10) == 7 + 8 + 9 + 10);
  CHECK(pairs(2, 4) == 3 + 4);
  CHECK(pairs(5, 3) == 1 + 2 + 3);  // two rows see nothing
  // The window counts keys before the row's own: 256, 4 and 4 keys in all.
  CHECK(pairs(1024, 1024, 255) == 256 * 257 / 2 + (1024 - 256) * 256);
  CHECK(pairs(1, 10, 3) == 4);
  CHECK(pairs(3, 10, 3) == 12);
  // Sizes whose pairs no loop could count.
  CHECK(pairs(std::int64_t{1} << 30, std::int64_t{1} << 30) == (std::int64_t{1} << 59) + (std::int64_t{1} << 29));
}

TEST_CASE("bounds just below 2^61 are no bounds, whatever the position") {
  constexpr std::int64_t far = (std::int64_t{1} << 61) - 1, keys = std::int64_t{1} << 40;
  for (const std::int64_t position : {std::int64_t{INT32_MIN}, std::int64_t{0}, std::int64_t{INT32_MAX}, keys}) {
    CAPTURE(position);
    const interval seen = planning::visible_keys({far, far}, position, keys);
    CHECK(seen.first == 0);
    CHECK(seen.last == keys);
    CHECK(planning::visible_pairs({far, far}, {1000, keys, position}, 0, 1000) == 1000 * keys);
  }
}

TEST_CASE("a split is seen as full panels, and as masks at the edges") {
  holds_for(3000, [] {
    constexpr std::int64_t split = 2, first_key = split * contract::split_keys;
    const auto bound = rc::gen::inRange<std::int64_t>(first_key - 40, first_key + contract::split_keys + 40);
    const auto rows = *rc::gen::map(
        rc::gen::container<std::vector<std::pair<std::int64_t, std::int64_t>>>(rc::gen::pair(bound, bound)),
        [](const auto& bounds) {
          std::vector<interval> intervals;
          for (const auto& [a, b] : bounds) intervals.push_back({std::min(a, b), std::max(a, b)});
          return intervals;
        });
    constexpr std::uint16_t untouched = 0xA5C3;
    std::vector<std::uint16_t> masks(rows.size() * contract::panels_per_split, untouched);
    const planning::split_view view = planning::view_split(rows, split, masks.data());

    int listed = 0;
    for (int slot = 0; slot < contract::panels_per_split; ++slot) {
      std::vector<std::uint16_t> expected;
      unsigned some = 0, every = 0xFFFF;
      for (const interval& row : rows) {
        unsigned mask = 0;
        for (int bit = 0; bit < contract::panel_keys; ++bit) {
          const std::int64_t key = first_key + slot * contract::panel_keys + bit;
          if (row.first <= key && key < row.last) mask |= 1u << bit;
        }
        expected.push_back(static_cast<std::uint16_t>(mask));
        some |= mask;
        every &= mask;
      }
      if (some == 0) continue;  // seen by no row: not in the list
      RC_ASSERT(listed < view.count);
      RC_ASSERT(view.panels[listed].slot == slot);
      RC_ASSERT(view.panels[listed].full == (every == 0xFFFF));
      const auto found = masks.begin() + slot * std::ssize(rows);
      if (!view.panels[listed].full) RC_ASSERT(std::equal(expected.begin(), expected.end(), found));
      ++listed;
    }
    RC_ASSERT(view.count == listed);
  });
}
