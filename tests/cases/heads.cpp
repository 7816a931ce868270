/// Which keys and values a query head reads.

#include <algorithm>
#include <string_view>

#include "cases/inputs.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"
#include "tril/cost.hpp"

using namespace tril;
using namespace tril::test;

TEST_CASE("Groups of a size that no model has") {
  const context ctx = context_under_test();
  for (const std::int64_t group : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16})
    for (const std::int64_t kv_heads : {1, 2, 3})
      for (const std::int64_t rows : {1, 2, 5})
        for (const std::int64_t keys : {1, 31, 32, 33, 257}) {
          recipe r = {.rows = rows, .keys = keys, .q_heads = group * kv_heads, .kv_heads = kv_heads};
          r.dim = r.value_dim = 64;
          workload shared = random_workload(r);
          require(shared.run(ctx));
          r.kv_heads = r.q_heads;
          workload repeated = random_workload(r);
          repeated.k.for_each_row([&](std::int64_t, std::int64_t key, std::int64_t head) {
            std::ranges::copy(shared.k.row(0, key, head / group), repeated.k.row(0, key, head).begin());
            std::ranges::copy(shared.v.row(0, key, head / group), repeated.v.row(0, key, head).begin());
          });
          require(repeated.run(ctx));
          INFO(shared.text());
          require(compare_bits(results_of(shared), results_of(repeated)));
        }
}

TEST_CASE("Heads that make no groups, divided by all the same") {
  const context ctx = context_under_test();
  const struct {
    std::int64_t q_heads, kv_heads;
    const char* argument;
  } cases[] = {{5, 2, "k:"}, {4, 0, "k:"}, {0, 4, "q:"}, {0, 0, "q:"}, {2, 4, "k:"}, {-1, 1, "q:"}};
  constexpr std::int64_t rows = 3, keys = 7, dim = 4;
  const float_tensor q({1, rows, 5, dim}, {}, 0), k({1, keys, 4, dim}, {}, 0), v({1, keys, 4, dim}, {}, 0),
      out({1, rows, 5, dim}, {}, canary), lse({1, rows, 5, 1}, {}, canary);
  for (const auto& c : cases) {
    const problem p = {
        .q = tril_bthd(TRIL_F32, 1, rows, c.q_heads, dim),
        .kv = {.k = tril_bthd(TRIL_F32, 1, keys, c.kv_heads, dim), .v = tril_bthd(TRIL_F32, 1, keys, c.kv_heads, dim)},
        .out = tril_bthd(TRIL_F32, 1, rows, c.q_heads, dim),
        .lse = tril_bthd(TRIL_F32, 1, rows, c.q_heads, 1)};
    const auto refused = [&](const status& s) {
      INFO(s.message());
      CHECK(s.code() == code::invalid_argument);
      CHECK(std::string_view(s.message()).starts_with(c.argument));
    };
    CAPTURE(c.q_heads, c.kv_heads);
    refused(attention(ctx, {q.data(), p.q}, {k.data(), p.kv.k}, {v.data(), p.kv.v}, {out.data(), p.out},
                      {.lse = {lse.data(), p.lse}}));
    refused(plan(ctx, p).status());
    refused(cost_of(p).status);
    const auto nowhere = [](std::int64_t, std::int64_t) { return false; };
    CHECK(out.holds_fill_except(nowhere));
    CHECK(lse.holds_fill_except(nowhere));
  }
}
