/// Who sees what, in pictures.

#include <algorithm>
#include <cstdint>

#include "api/seen.hpp"
#include "reference/visible.hpp"
#include "support/catch.hpp"
#include "support/context.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

using picture = std::vector<std::string>;

TEST_CASE("Causal attention is aligned at the bottom right") {
  const context ctx = context_under_test();
  CHECK(seen(ctx, {.rows = 3, .keys = 3}) == picture{"1..", "11.", "111"});
  CHECK(seen(ctx, {.rows = 2, .keys = 4}) == picture{"111.", "1111"});
  CHECK(seen(ctx, {.rows = 1, .keys = 16}) == picture{std::string(16, '1')});
  CHECK(seen(ctx, {.rows = 5, .keys = 3}) == picture{"...", "...", "1..", "11.", "111"});
}

TEST_CASE("A row sits at keys - rows of its own sequence") {
  const context ctx = context_under_test();
  CHECK(seen(ctx, {.rows = 3, .keys = 5, .q_lengths = {2}, .kv_lengths = {4}}) == picture{"111..", "1111."});
  CHECK(seen(ctx, {.rows = 3, .keys = 5, .kv_lengths = {1}}) == picture{".....", ".....", "1...."});
  CHECK(seen(ctx, {.rows = 3, .keys = 5, .q_lengths = {0}}).empty());
  CHECK(seen(ctx, {.rows = 2, .keys = 5, .kv_lengths = {0}}) == picture{".....", "....."});
}

TEST_CASE("An explicit query offset replaces keys - rows") {
  const context ctx = context_under_test();
  const auto at = [&](std::int32_t offset) { return seen(ctx, {.rows = 2, .keys = 4, .query_offset = {offset}}); };
  CHECK(at(0) == picture{"1...", "11.."});
  CHECK(at(1) == picture{"11..", "111."});
  CHECK(at(3) == picture{"1111", "1111"});
  CHECK(at(INT32_MAX) == picture{"1111", "1111"});
  CHECK(at(-1) == picture{"....", "1..."});
  CHECK(at(-2) == picture{"....", "...."});
  CHECK(at(INT32_MIN) == picture{"....", "...."});
}

TEST_CASE("A window of 0 is the row's own position, and -1 no bound") {
  const context ctx = context_under_test();
  const auto through = [&](window w, bool causal) {
    return seen(ctx, {.rows = 4, .keys = 4, .causal = causal, .window = w});
  };
  CHECK(through({.left = 0}, true) == picture{"1...", ".1..", "..1.", "...1"});
  CHECK(through({.left = 1}, true) == picture{"1...", "11..", ".11.", "..11"});
  CHECK(through({.left = 1, .right = 5}, true) == picture{"1...", "11..", ".11.", "..11"});
  CHECK(through({.left = 0, .right = 0}, false) == picture{"1...", ".1..", "..1.", "...1"});
  CHECK(through({.left = -1, .right = 0}, false) == picture{"1...", "11..", "111.", "1111"});
  CHECK(through({.left = 0, .right = -1}, false) == picture{"1111", ".111", "..11", "...1"});
  CHECK(through({.left = 1, .right = 1}, false) == picture{"11..", "111.", ".111", "..11"});
  CHECK(through({}, false) == picture{"1111", "1111", "1111", "1111"});
  CHECK(through({.left = INT64_MAX, .right = INT64_MAX}, false) == picture{"1111", "1111", "1111", "1111"});
}

TEST_CASE("A window moves with the query offset") {
  const context ctx = context_under_test();
  CHECK(seen(ctx, {.rows = 1, .keys = 10, .window = {.left = 3}}) == picture{"......1111"});
  CHECK(seen(ctx, {.rows = 3, .keys = 10, .window = {.left = 3}}) == picture{"....1111..", ".....1111.", "......1111"});
  CHECK(seen(ctx, {.rows = 3, .keys = 4, .window = {.left = 1}, .query_offset = {3}}) ==
        picture{"..11", "...1", "...."});
  CHECK(seen(ctx, {.rows = 2, .keys = 4, .causal = false, .window = {.left = 0, .right = 2}, .query_offset = {-2}}) ==
        picture{"1...", "11.."});
}

TEST_CASE("All small problems see what the predicate says") {
  const context ctx = context_under_test();
  const auto picture_of = [](const recipe& r) {
    workload w(r, 0);
    const reference::extent e = reference::sequence_extent(w.problem(), 0);
    picture rows(static_cast<std::size_t>(e.rows));
    for (std::size_t row = 0; row < rows.size(); ++row)
      for (std::int64_t key = 0; key < r.keys; ++key)
        rows[row] += reference::visible(w.problem(), e, static_cast<std::int64_t>(row), key) ? '1' : '.';
    return rows;
  };
  for (const std::int64_t rows : {0, 1, 2, 5})
    for (const std::int64_t keys : {0, 1, 3, 5})
      for (const bool causal : {true, false})
        for (const std::int64_t left : {-1, 0, 1, 2})
          for (const std::int64_t right : {-1, 0, 1})
            for (const std::vector<std::int32_t>& offset :
                 std::vector<std::vector<std::int32_t>>{{}, {-2}, {0}, {1}, {4}, {9}}) {
              const recipe r = {.rows = rows,
                                .keys = keys,
                                .dim = 1,
                                .causal = causal,
                                .window = {left, right},
                                .query_offset = offset};
              INFO(describe(r));
              REQUIRE(seen(ctx, r) == picture_of(r));
            }
}

TEST_CASE("A row that sees nothing is +0.0 and -inf") {
  const context ctx = context_under_test();
  // Rows of whole blocks, of a part of one, and of a call that has no key at all.
  for (const auto& [rows, keys] : {std::pair{200, 3}, std::pair{5, 3}, std::pair{3, 0}, std::pair{100, 0}}) {
    workload w({.rows = rows, .keys = keys, .q_heads = 2, .value_dim = 19}, seed());
    require(verify(ctx, w));
    for (std::int64_t row = 0; row < rows - keys; ++row)
      for (std::int64_t head = 0; head < 2; ++head) {
        for (const float x : w.out.row(0, row, head)) REQUIRE(numeric::bits_as<std::uint32_t>(x) == 0);
        REQUIRE(w.lse.at(0, row, head, 0) == -infinity);
      }
  }
}

TEST_CASE("Query head h uses KV head floor(h / (q heads / kv heads))") {
  const context ctx = context_under_test();
  const struct { std::int64_t q, kv; } all_heads[] = {{4, 2}, {12, 3}, {8, 1}, {5, 5}, {50, 2}};
  for (const auto& heads : all_heads)
    for (const std::int64_t rows : {1, 3, 40}) {
      CAPTURE(heads.q, heads.kv, rows);
      workload w({.rows = rows, .keys = rows, .q_heads = heads.q, .kv_heads = heads.kv, .value_dim = 3}, seed());
      w.v.for_each_row([&](std::int64_t, std::int64_t key, std::int64_t head) {
        std::ranges::fill(w.v.row(0, key, head), static_cast<float>(head + 1));
      });
      make_zero(w.q);
      require(w.run(ctx));
      w.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
        const auto expected = static_cast<float>(head / (heads.q / heads.kv) + 1);
        for (const float x : w.out.row(0, row, head)) REQUIRE(x == expected);
      });
    }
}

TEST_CASE("Each sequence has its own lengths and offset") {
  const context ctx = context_under_test();
  workload w({.batch = 4,
              .rows = 6,
              .keys = 40,
              .q_heads = 2,
              .q_lengths = {6, 0, 3, 1},
              .kv_lengths = {40, 7, 0, 39},
              .query_offset = {-3, 2, 5, 38}},
             seed());
  require(verify(ctx, w));
}
