#include "support/verify.hpp"

#include <algorithm>
#include <cmath>

#include "reference/attention.hpp"
#include "reference/canonical.hpp"
#include "reference/naive.hpp"

namespace tril::test {
namespace {

/// The rows of a workload by the definition.
struct exact_rows {
  std::vector<double> out, out_bound, lse, lse_bound;
};

exact_rows exact_of(const workload& w) {
  exact_rows rows;
  const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  w.for_each_row([&](std::int64_t sequence, std::int64_t row, std::int64_t head) {
    const reference::exact_row exact =
        reference::attention(reference::row_of(w.problem(), w.data(), sequence, row, head));
    append(rows.out, exact.out);
    append(rows.out_bound, exact.out_bound);
    rows.lse.push_back(exact.lse);
    rows.lse_bound.push_back(exact.lse_bound);
  });
  return rows;
}

double largest_value(const reference::row& r) {
  double largest = 0;
  r.for_each_visible([&](std::int64_t j) {
    for (std::int64_t c = 0; c < r.value_dim; ++c) largest = std::max(largest, std::abs(r.v.value(j, c)));
  });
  return largest;
}

void add_errors(const workload& w, const exact_rows& exact, error_tally& tally) {
  auto expected = exact.out.begin();
  std::vector<float> scores(static_cast<std::size_t>(w.made_from().keys)), naive;
  w.for_each_row([&](std::int64_t sequence, std::int64_t row, std::int64_t head) {
    const reference::row r = reference::row_of(w.problem(), w.data(), sequence, row, head);
    const std::span<float> ours = w.out.row(sequence, row, head);
    naive.resize(ours.size());
    reference::plain::naive_truncated(r, scores.data(), naive.data());
    const double unit = largest_value(r);
    for (std::size_t c = 0; c < ours.size(); ++c, ++expected) {
      if (unit == 0) continue;
      tally.ours += std::pow((static_cast<double>(ours[c]) - *expected) / unit, 2);
      tally.naive += std::pow((static_cast<double>(naive[c]) - *expected) / unit, 2);
      ++tally.elements;
    }
  });
}

/// Names the row that a report's faults begin with.
report placed(report r, const workload& w, const char* what) {
  if (r.ok) return r;
  std::size_t i = 0;
  w.for_each_row([&](std::int64_t sequence, std::int64_t row, std::int64_t head) {
    if (i++ == r.first_fault_row)
      r.text = std::string(what) + ", from sequence " + std::to_string(sequence) + ", row " + std::to_string(row) +
               ", head " + std::to_string(head) + " on:\n" + r.text + w.text();
  });
  return r;
}

}  // namespace

double error_tally::ours_rms() const { return std::sqrt(ours / static_cast<double>(elements)); }
double error_tally::naive_rms() const { return std::sqrt(naive / static_cast<double>(elements)); }

float_rows results_of(const workload& w) {
  float_rows rows;
  w.for_each_row([&](std::int64_t sequence, std::int64_t row, std::int64_t head) {
    const std::span<float> out = w.out.row(sequence, row, head);
    rows.out.insert(rows.out.end(), out.begin(), out.end());
    rows.lse.push_back(w.lse.at(sequence, row, head, 0));
  });
  return rows;
}

float_rows canonical_of(const workload& w, bool fused) {
  float_rows rows;
  w.for_each_row([&](std::int64_t sequence, std::int64_t row, std::int64_t head) {
    const reference::float_row r =
        reference::canonical(fused, reference::row_of(w.problem(), w.data(), sequence, row, head));
    rows.out.insert(rows.out.end(), r.out.begin(), r.out.end());
    rows.lse.push_back(r.lse);
  });
  return rows;
}

report compare_bits(const float_rows& actual, const float_rows& expected) {
  const report lse = compare_bits(actual.lse, expected.lse, 1);
  const std::size_t columns = actual.lse.empty() ? 1 : actual.out.size() / actual.lse.size();
  return lse.ok ? compare_bits(actual.out, expected.out, columns) : lse;
}

report verify(const context& ctx, workload& w, error_tally* tally) {
  if (const status s = w.run(ctx); !s) return {false, std::string(s.message()) + "\n" + w.text()};
  const auto exists = [&](std::int64_t sequence, std::int64_t row) { return row < w.rows_of(sequence); };
  if (!w.out.holds_fill_except(exists)) return {false, "out: not written, or written elsewhere\n" + w.text()};
  if (!w.lse.holds_fill_except(exists)) return {false, "lse: not written, or written elsewhere\n" + w.text()};

  const float_rows ours = results_of(w), canonical = canonical_of(w, kernels_of(ctx).fused);
  if (ours.lse.empty()) return {};  // no row exists, and nothing was written
  const auto value_dim = static_cast<std::size_t>(w.made_from().value_dim);
  if (const report r = compare_bits(ours.out, canonical.out, value_dim); !r.ok) return placed(r, w, "out's bits");
  if (const report r = compare_bits(ours.lse, canonical.lse, 1); !r.ok) return placed(r, w, "lse's bits");

  const recipe& made = w.made_from();
  if (!is_finite(made.q) || !is_finite(made.k) || !is_finite(made.v)) return {};
  const exact_rows exact = exact_of(w);
  const report out = compare_within(ours.out, exact.out, exact.out_bound, value_dim);
  if (!out.ok) return placed(out, w, "out's error");
  const report lse = compare_within(ours.lse, exact.lse, exact.lse_bound, 1);
  if (!lse.ok) return placed(lse, w, "lse's error");
  if (tally != nullptr) add_errors(w, exact, *tally);
  return {.largest_share = std::max(out.largest_share, lse.largest_share)};
}

}  // namespace tril::test
