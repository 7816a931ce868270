#include "results.hpp"

#include "support/catch.hpp"

using namespace tril;
using tool::assess, tool::compared_rows, tool::findings, tool::outcome;

namespace {

/// Two rows of two values.
compared_rows two_rows() {
  compared_rows compared;
  compared.exact.push_back({.out = {1.0, 2.0}, .lse = 3.0, .out_bound = {0.5, 0.5}, .lse_bound = 0.5});
  compared.exact.push_back({.out = {4.0, 8.0}, .lse = 5.0, .out_bound = {1.0, 1.0}, .lse_bound = 0.5});
  return compared;
}

const outcome exact = {.out = {1, 2, 4, 8}, .lse = {3, 5}, .milliseconds = 6, .pairs = 100};

findings one(const tool::result& r) {
  findings found;
  found.results.push_back(r);
  return found;
}

}  // namespace

TEST_CASE("a result has the errors of all rows") {
  outcome seen = exact;
  seen.out[2] = 4.5f;
  const auto r = assess("tril", seen, two_rows(), &seen, exact);
  CHECK(r.errors.max_abs() == 0.5);
  CHECK(r.errors.bound_used() == 0.5);
  CHECK(r.max_ulp_vs_naive == 1u << 20);
  CHECK(one(r).passed());
}

TEST_CASE("a comparison fails where a value is beyond its bound") {
  outcome seen = exact;
  seen.out[1] = 2.75f;
  const auto r = assess("tril", seen, two_rows(), &seen, exact);
  CHECK_FALSE(r.within_bound());
  CHECK_FALSE(one(r).passed());
}

TEST_CASE("a comparison fails where an lse is beyond its bound") {
  outcome seen = exact;
  seen.lse[1] = 5.75f;
  const auto r = assess("tril", seen, two_rows(), &seen, exact);
  CHECK(r.errors.within_bound());
  CHECK_FALSE(r.within_bound());
  CHECK_FALSE(one(r).passed());
}

TEST_CASE("a comparison fails where a bit differs from the canonical order") {
  CHECK(one(assess("tril", exact, two_rows(), &exact, exact)).passed());
  outcome zero = exact, minus_zero = exact;
  zero.out[0] = 0.0f;
  minus_zero.out[0] = -0.0f;
  CHECK_FALSE(*assess("tril", minus_zero, two_rows(), &zero, exact).bit_identical);
  outcome other_lse = exact;
  other_lse.lse[0] = 3.0000002f;
  const auto r = assess("tril", other_lse, two_rows(), &exact, exact);
  CHECK(r.within_bound());
  CHECK_FALSE(*r.bit_identical);
  CHECK_FALSE(one(r).passed());
}

TEST_CASE("textbook forms promise nothing") {
  const outcome naive = {.out = {1, 2, 4, 80}, .lse = {}, .milliseconds = 1, .pairs = 1};
  const auto r = assess("naive_masked", naive, two_rows(), nullptr, naive);
  CHECK_FALSE(r.within_bound());
  CHECK_FALSE(r.bit_identical.has_value());
  CHECK(one(r).passed());
}

TEST_CASE("a speed-up compares times per pair") {
  outcome naive = exact;  // 100 pairs in 6 ms
  outcome seen = exact;
  seen.pairs = 1000;
  seen.milliseconds = 15;
  CHECK(assess("tril", seen, two_rows(), &exact, naive).speedup_vs_naive == 4);
  CHECK(assess("tril", naive, two_rows(), &exact, naive).speedup_vs_naive == 1);
  seen.pairs = 0;
  CHECK(assess("tril", seen, two_rows(), &exact, naive).speedup_vs_naive == 0);
}

TEST_CASE("a comparison fails where an expected output is too far away") {
  findings found = one(assess("tril", exact, two_rows(), &exact, exact));
  found.expected = tool::assess_expected("theirs.npy", exact.out, {1.9375f, 2, 4, 8}, two_rows());
  CHECK(found.expected->errors.max_abs() == 0.9375);
  CHECK(found.expected->errors.bound_used() == 0.9375);
  CHECK(found.passed());
  found.expected = tool::assess_expected("theirs.npy", exact.out, {1, 3.0625f, 4, 8}, two_rows());
  CHECK_FALSE(found.passed());
}

TEST_CASE("a comparison fails where a projection does") {
  outcome other = exact;
  other.out[0] = 1.25f;  // within its bound
  findings found = one(assess("tril", exact, two_rows(), &exact, exact));
  found.projected = tool::projection_findings{.file = "w.npy", .in = 3, .out = 2, .rows = 2, .rows_compared = 2};
  found.projected->results.push_back(assess("tril", exact, two_rows(), &exact, exact));
  CHECK(found.passed());
  found.projected->results.push_back(assess("tril", other, two_rows(), &exact, exact));
  CHECK_FALSE(found.passed());
}
