/// Which keys a row sees where rows and keys are of different number, far from the start, or cut into calls.

#include <algorithm>
#include <cmath>

#include "api/seen.hpp"
#include "cases/inputs.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

using picture = std::vector<std::string>;

/// Part of a tensor: `count` tokens from the `first` on.
mutable_tensor tokens_of(const float_tensor& t, std::int64_t first, std::int64_t count) {
  layout l = t.layout();
  l.extents[1] = count;
  return {&t.at(0, first, 0, 0), l};
}

}  // namespace

TEST_CASE("Causal rows anchored at the first key instead of the last") {
  const context ctx = context_under_test();
  workload w = random_workload({.rows = 32, .keys = 1024, .q_heads = 12, .kv_heads = 12, .dim = 64, .value_dim = 64});
  require(verify(ctx, w));
}

TEST_CASE("A row that does not see its own position") {
  CHECK(seen(context_under_test(), {.rows = 2, .keys = 3}) == picture{"11.", "111"});
}

TEST_CASE("Keys in the future of a whole block that spoil its rows") {
  const context ctx = context_under_test();
  const struct {
    std::int64_t rows, keys;
  } cases[] = {{4097, 4097}, {5000, 5000}, {1025, 1025}, {769, 769}, {600, 600},
               {600, 601},   {600, 1111},  {600, 1367},  {600, 1368}};
  for (const auto& [rows, keys] : cases) {
    CAPTURE(rows, keys);
    workload w({.rows = rows, .keys = keys, .dim = 8, .value_dim = 8}, 0);
    make_zero(w.q);
    make_index_values(w.v);
    require(w.run(ctx));
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t position = keys - rows + row;
      CAPTURE(row);
      require(compare_bits(w.out.row(0, row, 0), index_means(0, position, 8), 8));
      REQUIRE(w.lse.at(0, row, 0, 0) == static_cast<float>(std::log(static_cast<double>(position + 1))));
    }
  }
}

TEST_CASE("A window that is one key too long or too short") {
  const context ctx = context_under_test();
  const auto of_width = [](std::int64_t width) {
    return recipe{.rows = 6, .keys = 6, .dim = 8, .value_dim = 8, .window = {.left = width - 1}};
  };
  CHECK(seen(ctx, of_width(1)) == picture{"1.....", ".1....", "..1...", "...1..", "....1.", ".....1"});
  CHECK(seen(ctx, of_width(2)) == picture{"1.....", "11....", ".11...", "..11..", "...11.", "....11"});
  CHECK(seen(ctx, of_width(3)) == picture{"1.....", "11....", "111...", ".111..", "..111.", "...111"});
  CHECK(seen(ctx, of_width(5)) == picture{"1.....", "11....", "111...", "1111..", "11111.", ".11111"});
  workload unbounded = random_workload(of_width(0));
  require(verify(ctx, unbounded));
  for (const std::int64_t width : {6, 7, 100}) {
    workload w = random_workload(of_width(width));
    require(w.run(ctx));
    require(compare_bits(results_of(w), results_of(unbounded)));
  }
}

TEST_CASE("Rows that see nothing of the first blocks of keys") {
  const context ctx = context_under_test();
  for (const std::int64_t tokens : {513, 600, 640, 1025}) {
    workload w({.rows = tokens, .keys = tokens, .dim = 4, .value_dim = 4, .window = {.left = 9}}, 0);
    make_zero(w.q);
    make_index_values(w.v);
    require(w.run(ctx));
    for (std::int64_t row = 0; row < tokens; ++row) {
      CAPTURE(tokens, row);
      require(compare_bits(w.out.row(0, row, 0), index_means(std::max<std::int64_t>(0, row - 9), row, 4), 4));
    }
  }
}

TEST_CASE("Chunks of a prefill that see other keys than the whole") {
  const context ctx = context_under_test();
  constexpr std::int64_t tokens = 1030;
  workload w =
      random_workload({.rows = tokens, .keys = tokens, .q_heads = 4, .kv_heads = 2, .dim = 64, .value_dim = 64});
  require(w.run(ctx));
  const float_rows whole = results_of(w);
  for (const std::vector<std::int64_t>& chunks :
       {std::vector<std::int64_t>{512, 512, 6}, {513, 517}, {1, 1029}, {1029, 1}, std::vector<std::int64_t>(103, 10)}) {
    w.out.reset(canary);
    w.lse.reset(canary);
    std::int64_t done = 0;
    for (const std::int64_t rows : chunks) {
      require(attention(ctx, tokens_of(w.q, done, rows), tokens_of(w.k, 0, done + rows), tokens_of(w.v, 0, done + rows),
                        tokens_of(w.out, done, rows), {.lse = tokens_of(w.lse, done, rows)}));
      done += rows;
    }
    REQUIRE(done == tokens);
    require(compare_bits(results_of(w), whole));
  }
}
