#pragma once

#include <cstdint>
#include <vector>

#include "reference/attention.hpp"

namespace tril::tool {

/// One row among all of a problem.
struct row_index {
  std::int64_t sequence, token, head;
};

/// `count` rows, or all if there are no more: one of each of as many equal parts, drawn by `seed`, but of the
/// first part the first and of the last the last. Head after head, as a program goes about it whose time is to be
/// taken: rows that follow one another have their keys in common.
std::vector<row_index> choose_rows(const problem& p, std::int64_t count, std::uint64_t seed);

/// Seconds that the definition takes for a (row, key) pair, tried on some rows.
double seconds_per_pair(const problem& p, const run_data& data);

/// As many rows as the definition takes 10 seconds for, if all of them took longer: a power of two, so that it seldom
/// changes from run to run. `pairs`: visible pairs of the problem.
std::int64_t affordable_rows(const problem& p, std::int64_t pairs, double seconds_per_pair);

/// Rows, and what the definition says about them.
struct compared_rows {
  std::vector<row_index> index;
  std::vector<reference::row> rows;
  std::vector<reference::exact_row> exact;
  std::int64_t total = 0;  // rows of the problem
  std::int64_t pairs = 0;  // visible pairs of the rows compared
};

compared_rows define_rows(const problem& p, const run_data& data, std::vector<row_index> index);

/// The compared rows of a whole tensor, one after the other.
std::vector<float> part_compared(const std::vector<float>& whole, const layout& l, const compared_rows& compared);

}  // namespace tril::tool
