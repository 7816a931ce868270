#include "results.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace tril::tool {
namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// Row i of rows that lie one after the other.
std::span<const float> row_of(const std::vector<float>& rows, std::size_t i, const compared_rows& compared) {
  const std::size_t value_dim = compared.exact[i].out.size();
  return {rows.data() + i * value_dim, value_dim};
}

}  // namespace

result assess(std::string name, const outcome& seen, const compared_rows& compared, const outcome* canonical,
              const outcome& naive) {
  result r;
  r.name = std::move(name);
  for (std::size_t i = 0; i < compared.exact.size(); ++i) {
    const auto& exact = compared.exact[i];
    const auto out = row_of(seen.out, i, compared);
    r.errors.add(out, exact);
    if (!seen.lse.empty()) r.lse_errors.add_lse(seen.lse[i], exact);
    r.max_ulp_vs_naive = std::max(r.max_ulp_vs_naive, max_ulp(out, row_of(naive.out, i, compared), exact));
  }
  if (canonical != nullptr)
    r.bit_identical = same_bits(seen.out, canonical->out) && same_bits(seen.lse, canonical->lse);
  r.milliseconds = seen.milliseconds;
  r.pairs = seen.pairs;
  if (seen.nanoseconds_per_pair() > 0) r.speedup_vs_naive = naive.nanoseconds_per_pair() / seen.nanoseconds_per_pair();
  return r;
}

expectation assess_expected(std::string file, const std::vector<float>& ours, const std::vector<float>& theirs,
                            const compared_rows& compared) {
  expectation e{std::move(file), accuracy(2)};
  for (std::size_t i = 0; i < compared.exact.size(); ++i)
    e.errors.add_difference(row_of(ours, i, compared), row_of(theirs, i, compared), compared.exact[i]);
  return e;
}

bool findings::passed() const {
  const auto kept = [](const std::vector<result>& all) {
    return std::all_of(all.begin(), all.end(), [](const result& r) { return r.kept(); });
  };
  return kept(results) && (!expected || expected->errors.within_bound()) && (!projected || kept(projected->results));
}

}  // namespace tril::tool
