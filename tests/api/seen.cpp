#include "api/seen.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/canon.hpp"
#include "support/require.hpp"

namespace tril::test {
namespace {

std::string seen_by(std::span<const float> weights, float lse) {
  const auto count = std::ranges::count_if(weights, [](float weight) { return weight != 0.0f; });
  const float weight = count == 0 ? 0.0f : 1.0f / static_cast<float>(count);
  const float expected_lse = count == 0 ? -infinity : static_cast<float>(std::log(static_cast<double>(count)));
  std::string text;
  for (const float w : weights) {
    const auto bits = numeric::bits_as<std::uint32_t>(w);
    text += lse != expected_lse ? '?' : bits == 0 ? '.' : bits == numeric::bits_as<std::uint32_t>(weight) ? '1' : '?';
  }
  return text;
}

}  // namespace

void make_one_hot(const float_tensor& v) {
  v.for_each_row([&](std::int64_t sequence, std::int64_t key, std::int64_t head) {
    const std::span<float> row = v.row(sequence, key, head);
    if (std::isnan(row[0])) return;
    std::ranges::fill(row, 0.0f);
    row[static_cast<std::size_t>(key)] = 1.0f;
  });
}

void make_zero(const float_tensor& q) {
  q.for_each_row([&](std::int64_t sequence, std::int64_t row, std::int64_t head) {
    std::ranges::fill(q.row(sequence, row, head), 0.0f);
  });
}

std::vector<std::string> seen(const context& ctx, recipe r) {
  r.value_dim = std::max<std::int64_t>(r.keys, 1);
  workload w(r, seed());
  make_zero(w.q);
  make_one_hot(w.v);
  require(w.run(ctx));
  std::vector<std::string> rows;
  w.for_each_row([&](std::int64_t sequence, std::int64_t row, std::int64_t head) {
    if (sequence != 0 || head != 0) return;
    const std::string text = seen_by(w.out.row(sequence, row, head), w.lse.at(sequence, row, head, 0));
    rows.push_back(r.keys == 0 ? (text == "." ? "" : "?") : text);
  });
  return rows;
}

}  // namespace tril::test
