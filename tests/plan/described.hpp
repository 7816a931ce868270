#pragma once

#include <rapidcheck.h>

#include <ostream>

#include "plan/predicate.hpp"
#include "plan/visible.hpp"

namespace tril::test {

/// Who sees what in one sequence, as a caller says it: for the reference, and for the plan.
struct described {
  bool causal;
  std::int64_t left, right;
  planning::sequence sequence;

  bool sees(std::int64_t row, std::int64_t key) const {
    return predicate{causal, left, right, sequence.rows, sequence.keys, sequence.first_position}.sees(row, key);
  }
  planning::window planned() const { return {left, causal ? 0 : right}; }
};

inline std::ostream& operator<<(std::ostream& out, const described& d) {
  return out << (d.causal ? "causal" : "full") << ", window " << d.left << ", " << d.right << ", " << d.sequence.rows
             << " rows, " << d.sequence.keys << " keys, row 0 at " << d.sequence.first_position;
}

inline rc::Gen<std::int64_t> window_bound() {
  constexpr std::int64_t beyond = std::int64_t{1} << 61;  // the first bound that a plan need not understand
  return rc::gen::weightedOneOf<std::int64_t>({{2, rc::gen::just(std::int64_t{planning::window::unbounded})},
                                               {6, rc::gen::inRange<std::int64_t>(0, 60)},
                                               {1, rc::gen::inRange<std::int64_t>(beyond - 60, beyond)}});
}

inline rc::Gen<planning::sequence> any_sequence(std::int64_t max_rows, std::int64_t max_keys) {
  return rc::gen::mapcat(
      rc::gen::pair(rc::gen::inRange<std::int64_t>(0, max_rows + 1), rc::gen::inRange<std::int64_t>(0, max_keys + 1)),
      [](const std::pair<std::int64_t, std::int64_t>& size) {
        const auto [rows, keys] = size;
        const auto position = rc::gen::weightedOneOf<std::int64_t>(
            {{3, rc::gen::just(keys - rows)},
             {6, rc::gen::inRange<std::int64_t>(-2 * rows - 60, 2 * keys + 60)},
             {1, rc::gen::element<std::int64_t>(INT32_MIN, INT32_MIN + 1, INT32_MAX - 1, INT32_MAX)}});
        return rc::gen::map(position, [rows = rows, keys = keys](std::int64_t first_position) {
          return planning::sequence{rows, keys, first_position};
        });
      });
}

inline rc::Gen<described> any_description(std::int64_t max_rows, std::int64_t max_keys) {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::arbitrary<bool>(), window_bound(), window_bound(), any_sequence(max_rows, max_keys)),
      [](const std::tuple<bool, std::int64_t, std::int64_t, planning::sequence>& parts) {
        const auto& [causal, left, right, sequence] = parts;
        return described{causal, left, right, sequence};
      });
}

}  // namespace tril::test
