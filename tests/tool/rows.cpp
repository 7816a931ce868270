#include "rows.hpp"

#include <algorithm>
#include <set>

#include "support/catch.hpp"

using namespace tril;
using tool::affordable_rows, tool::choose_rows, tool::row_index;

namespace {

problem problem_of(std::int64_t batch, std::int64_t tokens, std::int64_t heads, std::int64_t dim = 64) {
  problem p;
  p.q = p.out = p.kv.k = p.kv.v = tril_bthd(TRIL_F32, batch, tokens, heads, dim);
  return p;
}

/// In the order head after head.
std::vector<std::int64_t> places(const problem& p, const std::vector<row_index>& rows) {
  std::vector<std::int64_t> all;
  for (const row_index& r : rows) all.push_back((r.sequence * p.q.extents[2] + r.head) * p.q.extents[1] + r.token);
  return all;
}

}  // namespace

TEST_CASE("all rows are chosen where there are no more") {
  const problem p = problem_of(2, 5, 3);
  for (const std::int64_t count : {30, 31, 1000}) {
    const auto at = places(p, choose_rows(p, count, 1));
    REQUIRE(at.size() == 30);
    for (std::size_t i = 0; i < at.size(); ++i) CHECK(at[i] == static_cast<std::int64_t>(i));
  }
}

TEST_CASE("a choice of rows covers a problem evenly, with its first and its last row") {
  const problem p = problem_of(3, 100, 8);
  constexpr std::int64_t total = 2400;
  const std::int64_t count = GENERATE(2, 3, 7, 100, 999, 2399);
  const auto rows = choose_rows(p, count, test::seed());
  const auto at = places(p, rows);
  REQUIRE(static_cast<std::int64_t>(at.size()) == count);
  CHECK(at.front() == 0);
  CHECK(at.back() == total - 1);
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    CHECK(at[i] < at[i + 1]);
    CHECK(at[i + 1] - at[i] < 2 * (total / count + 1));
  }
  for (const row_index& r : rows) {
    CHECK((r.sequence >= 0 && r.sequence < 3));
    CHECK((r.token >= 0 && r.token < 100));
    CHECK((r.head >= 0 && r.head < 8));
  }
}

TEST_CASE("a choice of rows does not keep to a few positions of each head") {
  const problem p = problem_of(1, 1000, 10);
  std::set<std::int64_t> tokens;
  for (const row_index& r : choose_rows(p, 100, 1)) tokens.insert(r.token);
  CHECK(tokens.size() > 80);
}

TEST_CASE("a choice of rows repeats with its seed and changes with another") {
  const problem p = problem_of(1, 1000, 8);
  CHECK(places(p, choose_rows(p, 50, 7)) == places(p, choose_rows(p, 50, 7)));
  CHECK(places(p, choose_rows(p, 50, 7)) != places(p, choose_rows(p, 50, 8)));
  CHECK(choose_rows(p, 1, 7).size() == 1);
}

TEST_CASE("all rows are affordable unless the definition takes ten seconds for them") {
  const problem p = problem_of(1, 4096, 8);
  constexpr std::int64_t total = 4096 * 8, pairs = 1'000'000'000;
  CHECK(affordable_rows(p, pairs, 0) == total);
  CHECK(affordable_rows(p, pairs, 9.9e-9) == total);
  CHECK(affordable_rows(p, pairs, 10.1e-9) == total / 2);
  CHECK(affordable_rows(p, pairs, 19e-9) == total / 2);
  CHECK(affordable_rows(p, pairs, 39e-9) == total / 4);
  CHECK(affordable_rows(p, pairs, 1e9) == 1);
  CHECK(affordable_rows(problem_of(1, 5, 5), pairs, 11e-9) == 16);
  CHECK(affordable_rows(problem_of(1, 1 << 30, 1), 1, 0) == 1 << 19);  // memory, too
}

TEST_CASE("the time of a pair is taken from the definition") {
  const problem p = problem_of(1, 300, 2);
  const std::vector<float> values(300 * 2 * 64, 1.0f);
  const double seconds = tool::seconds_per_pair(p, {.q = values.data(), .kv = {values.data(), values.data()}});
  CHECK(seconds > 1e-9);  // 128 columns and an exponential
  CHECK(seconds < 1e-3);
  problem hidden = p;
  const std::vector<std::int32_t> offset = {-1000};
  hidden.visibility.query_offset = offset;
  CHECK(tool::seconds_per_pair(hidden, {.q = values.data(), .kv = {values.data(), values.data()}}) == 0);
}

TEST_CASE("chosen rows carry what the definition says about them") {
  problem p = problem_of(1, 3, 2, 1);
  p.scale = 1.0f;
  const std::vector<float> q(6, 0.0f), k(6, 1.0f), v = {1, 10, 2, 20, 6, 60};
  const auto compared = tool::define_rows(p, {.q = q.data(), .kv = {k.data(), v.data()}}, {{0, 0, 0}, {0, 2, 1}});
  REQUIRE(compared.exact.size() == 2);
  CHECK(compared.total == 6);
  CHECK(compared.pairs == 1 + 3);
  CHECK(compared.exact[0].out[0] == 1.0);
  CHECK(compared.exact[1].out[0] == 30.0);
}
