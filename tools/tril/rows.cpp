#include "rows.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "progress.hpp"

namespace tril::tool {
namespace {

std::int64_t rows_of(const problem& p) { return p.q.extents[0] * p.q.extents[1] * p.q.extents[2]; }

std::int64_t pairs_of(const reference::row& r) {
  std::int64_t pairs = 0;
  for (const auto& [first, last] : r.visible) pairs += last - first;
  return pairs;
}

/// A well-mixed number (the finaliser of SplitMix64).
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

std::vector<row_index> choose_rows(const problem& p, std::int64_t count, std::uint64_t seed) {
  const std::int64_t total = rows_of(p), tokens = p.q.extents[1], heads = p.q.extents[2];
  count = std::min(count, total);
  std::vector<row_index> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = i * (total / count) + std::min(i, total % count);
    const std::int64_t size = total / count + (i < total % count ? 1 : 0);
    // At random, as equal steps might meet the same positions in every head.
    std::int64_t row = first + static_cast<std::int64_t>(mixed(seed + static_cast<std::uint64_t>(i)) %
                                                         static_cast<std::uint64_t>(size));
    if (i == 0) row = 0;
    if (i == count - 1) row = total - 1;
    rows.push_back({row / tokens / heads, row % tokens, row / tokens % heads});
  }
  return rows;
}

double seconds_per_pair(const problem& p, const run_data& data) {
  using clock = std::chrono::steady_clock;
  constexpr std::int64_t tried = 4;
  double seconds = 0;
  std::int64_t pairs = 0;
  for (const row_index& i : choose_rows(p, tried, 0)) {
    const reference::row r = reference::row_of(p, data, i.sequence, i.token, i.head);
    reference::attention(r);  // brings its keys into the cache, where the row before has them otherwise
    const auto start = clock::now();
    reference::attention(r);
    seconds += std::chrono::duration<double>(clock::now() - start).count();
    pairs += pairs_of(r);
  }
  return pairs == 0 ? 0 : seconds / static_cast<double>(pairs);
}

std::int64_t affordable_rows(const problem& p, std::int64_t pairs, double seconds_per_pair) {
  constexpr double most_seconds = 10;
  constexpr std::int64_t most_rows = 1 << 19;  // what is known of them is kept
  const std::int64_t total = rows_of(p);
  const double seconds = static_cast<double>(pairs) * seconds_per_pair;
  if (seconds <= most_seconds && total <= most_rows) return total;
  const double rows = std::min(most_seconds / seconds * static_cast<double>(total), static_cast<double>(most_rows));
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max(rows, 1.0))));
}

compared_rows define_rows(const problem& p, const run_data& data, std::vector<row_index> index) {
  progress defining("the definition in double");
  compared_rows compared;
  compared.total = rows_of(p);
  for (const row_index& i : index) {
    compared.rows.push_back(reference::row_of(p, data, i.sequence, i.token, i.head));
    compared.pairs += pairs_of(compared.rows.back());
  }
  double done = 0;
  for (const reference::row& r : compared.rows) {
    compared.exact.push_back(reference::attention(r));
    defining.at(++done / static_cast<double>(index.size()));
  }
  compared.index = std::move(index);
  return compared;
}

std::vector<float> part_compared(const std::vector<float>& whole, const layout& l, const compared_rows& compared) {
  std::vector<float> part;
  for (const row_index& i : compared.index) {
    const float* row = whole.data() + reference::offset_of(l, i.sequence, i.token, i.head);
    part.insert(part.end(), row, row + l.extents[3]);
  }
  return part;
}

}  // namespace tril::tool
