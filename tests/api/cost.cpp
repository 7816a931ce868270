#include "tril/cost.hpp"

#include <set>

#include "reference/visible.hpp"
#include "support/require.hpp"
#include "support/workload.hpp"

using namespace tril;
using namespace tril::test;

namespace {

problem layouts_of(std::int64_t batch, std::int64_t rows, std::int64_t keys, std::int64_t q_heads,
                   std::int64_t kv_heads, std::int64_t dim, std::int64_t value_dim) {
  return {.q = tril_bthd(TRIL_F32, batch, rows, q_heads, dim),
          .kv = {.k = tril_bthd(TRIL_F32, batch, keys, kv_heads, dim),
                 .v = tril_bthd(TRIL_F32, batch, keys, kv_heads, value_dim)},
          .out = tril_bthd(TRIL_F32, batch, rows, q_heads, value_dim)};
}

std::int64_t pairs(std::int64_t rows, std::int64_t keys, std::int64_t left) {
  problem p = layouts_of(1, rows, keys, 1, 1, 1, 1);
  p.visibility.window.left = left;
  const cost c = cost_of(p);
  require(c.status);
  return c.visible_pairs;
}

}  // namespace

TEST_CASE("Closed forms of visible pairs") {
  CHECK(pairs(512, 512, -1) == 131328);
  CHECK(pairs(1, 4096, -1) == 4096);
  CHECK(pairs(4, 10, -1) == 34);
  CHECK(pairs(2, 4, -1) == 7);
  CHECK(pairs(5, 3, -1) == 6);
  CHECK(pairs(1024, 1024, 255) == 229504);
  CHECK(pairs(1, 10, 3) == 4);
  CHECK(pairs(3, 10, 3) == 12);
  const std::int64_t million = 1'000'000;
  CHECK(pairs(million, million, -1) == million * (million + 1) / 2);
}

TEST_CASE("The cost of a model's layer") {
  problem p = layouts_of(1, 512, 512, 16, 8, 64, 128);
  p.lse = tril_bthd(TRIL_F32, 1, 512, 16, 1);
  const cost c = cost_of(p);
  require(c.status);
  CHECK(c.visible_pairs == 16 * 131328);
  CHECK(c.flops == 2 * (64 + 128) * 16 * 131328LL);
  CHECK(c.kv_bytes == 512 * 8 * (64 + 128) * 4);
  CHECK(c.q_bytes == 512 * 16 * 64 * 4);
  CHECK(c.out_bytes == 512 * 16 * (128 + 1) * 4);
}

TEST_CASE("The costs of all small problems are what counting gives") {
  for (std::int64_t rows = 0; rows <= 7; ++rows)
    for (std::int64_t keys = 0; keys <= 7; ++keys)
      for (const bool causal : {true, false})
        for (const std::int64_t left : {-1, 0, 1, 3, 8})
          for (const std::int64_t right : {-1, 0, 2})
            for (const std::vector<std::int32_t>& offset :
                 std::vector<std::vector<std::int32_t>>{{}, {-3, 0}, {2, 9}}) {
              problem p = layouts_of(2, rows, keys, 6, 2, 3, 5);
              const std::int32_t lengths[] = {static_cast<std::int32_t>(keys), static_cast<std::int32_t>(keys / 2)};
              p.kv.lengths = lengths;
              p.visibility = {.causal = causal, .window = {left, right}, .query_offset = offset};
              std::int64_t seen_pairs = 0, seen_keys = 0;
              for (std::int64_t sequence = 0; sequence < 2; ++sequence) {
                const reference::extent e = reference::sequence_extent(p, sequence);
                std::set<std::int64_t> seen;
                for (std::int64_t row = 0; row < rows; ++row)
                  for (std::int64_t key = 0; key < keys; ++key)
                    if (reference::visible(p, e, row, key)) ++seen_pairs, seen.insert(key);
                seen_keys += std::ssize(seen);
              }
              const cost c = cost_of(p);
              CAPTURE(rows, keys, causal, left, right, offset);
              require(c.status);
              REQUIRE(c.visible_pairs == 6 * seen_pairs);
              REQUIRE(c.flops == 2 * (3 + 5) * 6 * seen_pairs);
              REQUIRE(c.kv_bytes == 2 * seen_keys * (3 + 5) * 4);
              REQUIRE(c.q_bytes == 2 * rows * 6 * 3 * 4);
              REQUIRE(c.out_bytes == 2 * rows * 6 * 5 * 4);
            }
}

TEST_CASE("The cost of bad problems has a status and no numbers") {
  problem p = layouts_of(1, 3, 4, 4, 2, 8, 8);
  p.kv.v.extents[1] = 5;
  const cost bad = cost_of(p);
  CHECK(bad.status.code() == code::invalid_argument);
  CHECK(std::string_view(bad.status.message()).starts_with("v:"));
  CHECK(bad.visible_pairs == 0);
}

TEST_CASE("A cost that 64 bits do not hold is an error") {
  // All keys are one in memory, so that there may be 2^57 of them. K and V together are 2^63 bytes.
  problem p = layouts_of(1, 1, std::int64_t{1} << 57, 1, 1, 8, 8);
  p.kv.k.strides[1] = p.kv.v.strides[1] = 0;
  const cost c = cost_of(p);
  CAPTURE(c.kv_bytes);
  CHECK(c.status.code() == code::invalid_argument);
}
