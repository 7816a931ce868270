#include "measure.hpp"

#include <algorithm>
#include <limits>

#include "bad_input.hpp"
#include "memory/aligned.hpp"
#include "reference/canonical.hpp"

namespace tril::tool {
namespace {

std::size_t value_dim_of(const compared_rows& compared) {
  return compared.rows.empty() ? 0 : static_cast<std::size_t>(compared.rows.front().value_dim);
}

void check(const status& s) {
  if (!s) throw bad_input("{}", s.message());
}

}  // namespace

outcome run_naive(naive_function naive, const compared_rows& compared) {
  const std::size_t value_dim = value_dim_of(compared);
  std::int64_t most_keys = 0;
  for (const reference::row& r : compared.rows) most_keys = std::max(most_keys, r.keys);
  std::vector<float> scores(static_cast<std::size_t>(most_keys));

  outcome result;
  result.out.resize(compared.rows.size() * value_dim);
  result.pairs = compared.pairs;
  result.milliseconds = median_milliseconds([&] {
    float* out = result.out.data();
    for (const reference::row& r : compared.rows) naive(r, scores.data(), out), out += value_dim;
  });
  return result;
}

outcome run_canonical(bool fused, const compared_rows& compared) {
  outcome result;
  result.pairs = compared.pairs;
  result.milliseconds = median_milliseconds([&] {
    result.out.clear();
    result.lse.clear();
    for (const reference::row& r : compared.rows) {
      const reference::float_row row = reference::canonical(fused, r);
      result.out.insert(result.out.end(), row.out.begin(), row.out.end());
      result.lse.push_back(row.lse);
    }
  });
  return result;
}

outcome run_library(const context& ctx, const problem& p, const run_data& data, std::int64_t pairs,
                    const compared_rows& compared, std::vector<float>& whole) {
  const std::int64_t batch = p.q.extents[0], tokens = p.q.extents[1], heads = p.q.extents[2];
  problem with_lse = p;
  with_lse.lse = tril_bthd(TRIL_F32, batch, tokens, heads, 1);
  // NaN, so that a row that is never written shows.
  constexpr float unwritten = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> lse(static_cast<std::size_t>(compared.total), unwritten);
  whole.assign(static_cast<std::size_t>(compared.total) * value_dim_of(compared), unwritten);

  // As an engine does it: planned once, memory at hand.
  const plan prepared(ctx, with_lse);
  check(prepared.status());
  const aligned_bytes workspace = allocate_aligned(std::max<std::size_t>(prepared.workspace_bytes(), 1));
  if (!workspace) throw bad_input("no memory for a workspace of {} bytes", prepared.workspace_bytes());
  run_data run = data;
  run.out = whole.data();
  run.lse = lse.data();
  run.workspace = workspace.get();
  run.workspace_bytes = prepared.workspace_bytes();

  outcome result;
  result.pairs = pairs;
  result.milliseconds = median_milliseconds([&] { check(prepared.run(run)); });
  result.out = part_compared(whole, p.out, compared);
  result.lse = part_compared(lse, with_lse.lse, compared);
  return result;
}

}  // namespace tril::tool
