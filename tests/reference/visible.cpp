/// The predicate, and the rows that are made with it.

#include "reference/visible.hpp"

#include <cmath>

#include "reference/row.hpp"
#include "support/catch.hpp"
#include "tril/tensor.hpp"

using namespace tril;

namespace {

/// "x.." for a sequence of three keys of which a row sees the first; rows separated by blanks.
std::string seen_by_rows(const problem& p, std::int64_t sequence = 0) {
  const reference::extent e = reference::sequence_extent(p, sequence);
  std::string seen;
  for (std::int64_t i = 0; i < e.rows; ++i) {
    if (i > 0) seen += ' ';
    for (std::int64_t j = 0; j < e.keys; ++j) seen += reference::visible(p, e, i, j) ? 'x' : '.';
  }
  return seen;
}

problem of_size(std::int64_t rows, std::int64_t keys) {
  problem p;
  p.q = p.out = tril_bthd(TRIL_F32, 1, rows, 1, 1);
  p.kv.k = p.kv.v = tril_bthd(TRIL_F32, 1, keys, 1, 1);
  return p;
}

}  // namespace

TEST_CASE("visible: causal, the last row sees the last key") {
  CHECK(seen_by_rows(of_size(3, 3)) == "x.. xx. xxx");
  CHECK(seen_by_rows(of_size(2, 4)) == "xxx. xxxx");
  CHECK(seen_by_rows(of_size(1, 5)) == "xxxxx");
  CHECK(seen_by_rows(of_size(5, 3)) == "... ... x.. xx. xxx");
}

TEST_CASE("visible: an offset places row 0") {
  problem p = of_size(3, 4);
  const std::int32_t top_left[] = {0}, before[] = {-2}, beyond[] = {7};
  p.visibility.query_offset = top_left;
  CHECK(seen_by_rows(p) == "x... xx.. xxx.");
  p.visibility.query_offset = before;
  CHECK(seen_by_rows(p) == ".... .... x...");
  p.visibility.query_offset = beyond;
  CHECK(seen_by_rows(p) == "xxxx xxxx xxxx");
}

TEST_CASE("visible: full") {
  problem p = of_size(2, 3);
  p.visibility.causal = false;
  CHECK(seen_by_rows(p) == "xxx xxx");
}

TEST_CASE("visible: a window counts from the row's position") {
  problem p = of_size(6, 6);
  p.visibility.window.left = 0;
  CHECK(seen_by_rows(p) == "x..... .x.... ..x... ...x.. ....x. .....x");
  p.visibility.window.left = 2;
  CHECK(seen_by_rows(p) == "x..... xx.... xxx... .xxx.. ..xxx. ...xxx");
  p.visibility.window.left = 100;
  CHECK(seen_by_rows(p) == seen_by_rows(of_size(6, 6)));
  p.visibility.causal = false;
  p.visibility.window = {1, 1};
  CHECK(seen_by_rows(p) == "xx.... xxx... .xxx.. ..xxx. ...xxx ....xx");

  problem decode = of_size(3, 10);
  decode.visibility.window.left = 3;
  CHECK(seen_by_rows(decode) == "....xxxx.. .....xxxx. ......xxxx");
}

TEST_CASE("visible: each sequence has lengths of its own") {
  problem p;
  p.q = tril_bthd(TRIL_F32, 2, 3, 1, 1);
  p.kv.k = p.kv.v = tril_bthd(TRIL_F32, 2, 5, 1, 1);
  const std::int32_t rows[] = {3, 1}, keys[] = {2, 4};
  p.visibility.q_lengths = rows;
  p.kv.lengths = keys;
  CHECK(seen_by_rows(p, 0) == ".. x. xx");
  CHECK(seen_by_rows(p, 1) == "xxxx");
}

TEST_CASE("a row of a problem has its head's keys and its own position") {
  problem p;
  const std::int64_t batch = 2, rows = 3, keys = 7, q_heads = 12, kv_heads = 3, dim = 5, value_dim = 4;
  p.q = tril_bthd(TRIL_F32, batch, rows, q_heads, dim);
  p.kv.k = tril_bhtd(TRIL_F32, batch, kv_heads, keys, dim);
  p.kv.v = tril_bthd(TRIL_F32, batch, keys, kv_heads, value_dim);
  p.visibility.window.left = 2;
  const std::vector<float> q(static_cast<std::size_t>(batch * rows * q_heads * dim)),
      k(static_cast<std::size_t>(batch * keys * kv_heads * dim)),
      v(static_cast<std::size_t>(batch * keys * kv_heads * value_dim));
  const run_data data = {.q = q.data(), .kv = {k.data(), v.data()}};
  for (std::int64_t sequence = 0; sequence < batch; ++sequence)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t head = 0; head < q_heads; ++head) {
        const reference::row r = reference::row_of(p, data, sequence, i, head);
        const std::int64_t kv_head = head / 4;  // neighbouring query heads share a KV head
        CHECK(r.q == q.data() + ((sequence * rows + i) * q_heads + head) * dim);
        CHECK(r.k.data == k.data() + (sequence * kv_heads + kv_head) * keys * dim);
        CHECK(r.k.stride == dim);
        CHECK(r.v.data == v.data() + (sequence * keys * kv_heads + kv_head) * value_dim);
        CHECK(r.v.stride == kv_heads * value_dim);
        CHECK((r.dim == dim && r.value_dim == value_dim && r.keys == keys));
        CHECK(r.position == keys - rows + i);
        CHECK(r.scale == static_cast<float>(1 / std::sqrt(5.0)));
        REQUIRE(r.visible.size() == 1);
        CHECK(r.visible[0].first == r.position - 2);
        CHECK(r.visible[0].last == r.position + 1);
      }
  p.scale = 0.25f;
  CHECK(reference::row_of(p, data, 0, 0, 0).scale == 0.25f);
}
