/// What a row does not see changes none of its bits, and what it sees is not lost.

#include <algorithm>
#include <cmath>

#include "reference/visible.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// Ways of hiding some keys from some rows, in calls of many rows and of few.
std::vector<recipe> hiding_recipes() {
  const recipe causal = {.rows = 37, .keys = 37, .q_heads = 4, .kv_heads = 2, .dim = 5, .value_dim = 18};
  recipe window = causal, offset = causal, lengths = causal, splits = causal, few = causal;
  window.causal = false;
  window.window = {.left = 3, .right = 2};
  offset.query_offset = {-5};
  lengths.kv_lengths = {21};
  splits.rows = 40;
  splits.keys = 530;
  splits.window = {.left = 250};
  few.rows = 2;
  few.keys = 530;
  few.window = {.left = 270};
  return {causal, window, offset, lengths, splits, few};
}

/// Keys around the ends of panels and splits.
std::vector<std::int64_t> telling_keys(std::int64_t keys) {
  std::vector<std::int64_t> telling;
  for (const std::int64_t key : {0, 1, 15, 16, 17, 20, 21, 31, 35, 36, 255, 256, 257, 259, 511, 512, 527, 528, 529})
    if (key < keys) telling.push_back(key);
  return telling;
}

bool same_bits(float a, float b) { return numeric::bits_as<std::uint32_t>(a) == numeric::bits_as<std::uint32_t>(b); }
bool is_canonical_nan(float x) { return numeric::bits_as<std::uint32_t>(x) == numeric::canonical_nan_bits; }

struct row_result {
  std::vector<float> out;
  float lse;

  bool operator==(const row_result& other) const {
    return same_bits(lse, other.lse) && std::ranges::equal(out, other.out, same_bits);
  }
  bool is_nan() const { return is_canonical_nan(lse) && std::ranges::all_of(out, is_canonical_nan); }
};

/// The results of a workload's rows, and whether each sees a key.
struct run_result {
  std::vector<row_result> rows;
  std::vector<bool> sees;
};

run_result run(const context& ctx, workload& w, std::int64_t key) {
  require(w.run(ctx));
  run_result r;
  const reference::extent e = reference::sequence_extent(w.problem(), 0);
  w.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t head) {
    const std::span<float> out = w.out.row(0, row, head);
    r.rows.push_back({{out.begin(), out.end()}, w.lse.at(0, row, head, 0)});
    r.sees.push_back(reference::visible(w.problem(), e, row, key));
  });
  return r;
}

/// Some elements of a key, in all heads of a tensor, hold `value` for as long as this lives.
class spoiled {
 public:
  spoiled(const float_tensor& t, std::int64_t key, std::int64_t first, std::int64_t last, float value) {
    for (std::int64_t head = 0; head < t.layout().extents[2]; ++head)
      for (std::int64_t c = first; c < last; ++c) {
        float& x = t.at(0, key, head, c);
        saved_.emplace_back(&x, x);
        x = value;
      }
  }
  ~spoiled() {
    for (const auto& [at, value] : saved_) *at = value;
  }
  spoiled(const spoiled&) = delete;
  spoiled& operator=(const spoiled&) = delete;

 private:
  std::vector<std::pair<float*, float>> saved_;
};

}  // namespace

TEST_CASE("A key that a row does not see has no effect on any bit of it") {
  const context ctx = context_under_test();
  for (const recipe& r : hiding_recipes()) {
    workload w(r, seed());
    require(verify(ctx, w));
    for (const std::int64_t key : telling_keys(r.keys)) {
      const run_result before = run(ctx, w, key);
      for (const float value : {quiet_nan, numeric::bits_as<float>(poison), infinity, -infinity, 1e30f}) {
        const spoiled k(w.k, key, 0, r.dim, value), v(w.v, key, 0, r.value_dim, value);
        const run_result after = run(ctx, w, key);
        INFO(w.text() << "key " << key << " holds " << value);
        for (std::size_t row = 0; row < after.rows.size(); ++row)
          if (!after.sees[row]) REQUIRE(after.rows[row] == before.rows[row]);
      }
    }
  }
}

TEST_CASE("A NaN in a key fills the rows that see it, lse too, and no others") {
  const context ctx = context_under_test();
  for (const recipe& r : hiding_recipes()) {
    workload w(r, seed());
    for (const std::int64_t key : telling_keys(r.keys)) {
      const run_result before = run(ctx, w, key);
      const spoiled k(w.k, key, 3, 4, quiet_nan);
      const run_result after = run(ctx, w, key);
      INFO(w.text() << "key " << key);
      for (std::size_t row = 0; row < after.rows.size(); ++row)
        REQUIRE((after.sees[row] ? after.rows[row].is_nan() : after.rows[row] == before.rows[row]));
    }
  }
}

TEST_CASE("A NaN in a value stays in its column of the rows that see it") {
  const context ctx = context_under_test();
  for (const recipe& r : hiding_recipes()) {
    workload w(r, seed());
    for (const std::int64_t key : telling_keys(r.keys)) {
      const run_result before = run(ctx, w, key);
      for (const std::int64_t column : {std::int64_t{0}, std::int64_t{16}, r.value_dim - 1}) {
        const spoiled v(w.v, key, column, column + 1, numeric::bits_as<float>(poison));
        run_result after = run(ctx, w, key);
        INFO(w.text() << "key " << key << ", column " << column);
        for (std::size_t row = 0; row < after.rows.size(); ++row) {
          if (after.sees[row]) {
            float& x = after.rows[row].out[static_cast<std::size_t>(column)];
            REQUIRE(is_canonical_nan(x));
            x = before.rows[row].out[static_cast<std::size_t>(column)];
          }
          REQUIRE(after.rows[row] == before.rows[row]);
        }
      }
    }
  }
}

TEST_CASE("A NaN score is found in every lane, also where it is the row's only one") {
  const context ctx = context_under_test();
  for (const std::int64_t keys : {16, 17, 300})
    for (const std::int64_t key : telling_keys(keys))
      for (const window& seen : {window{}, window{.left = 0, .right = 0}}) {
        workload w({.rows = keys, .keys = keys, .dim = 2, .value_dim = 17, .causal = false, .window = seen}, seed());
        const spoiled k(w.k, key, 1, 2, quiet_nan);
        INFO(w.text() << "key " << key);
        CHECK(run(ctx, w, key).rows[static_cast<std::size_t>(key)].is_nan());
        // The row alone: few rows take another way.
        workload alone({.rows = 1,
                        .keys = keys,
                        .dim = 2,
                        .value_dim = 17,
                        .causal = false,
                        .window = seen,
                        .query_offset = {static_cast<std::int32_t>(key)}},
                       seed());
        const spoiled the_same(alone.k, key, 1, 2, quiet_nan);
        CHECK(run(ctx, alone, key).rows[0].is_nan());
      }
}

TEST_CASE("A query with a NaN or an infinity spoils its own row alone") {
  const context ctx = context_under_test();
  workload w({.rows = 20, .keys = 20, .q_heads = 4, .kv_heads = 2, .dim = 8, .value_dim = 8}, seed());
  // With one sign in column 0 of all keys, an infinity there gives scores of one sign.
  w.k.for_each_row([&](std::int64_t, std::int64_t key, std::int64_t head) {
    float& x = w.k.at(0, key, head, 0);
    x = std::abs(x) + 1.0f;
  });
  const run_result before = run(ctx, w, 0);
  constexpr std::size_t row = 5, head = 2;
  for (const float value : {quiet_nan, infinity, -infinity}) {
    CAPTURE(value);
    float& x = w.q.at(0, row, head, 0);
    const float saved = x;
    x = value;
    run_result after = run(ctx, w, 0);
    x = saved;
    row_result& own = after.rows[row * 4 + head];
    // Scores of -inf hide their keys; a +inf among them is as undefined as a NaN.
    CHECK((value == -infinity ? own == row_result{std::vector<float>(8, 0.0f), -infinity} : own.is_nan()));
    own = before.rows[row * 4 + head];
    CHECK(after.rows == before.rows);
  }
}

TEST_CASE("A score of -inf hides its key, wherever it comes from") {
  const context ctx = context_under_test();
  for (const std::int64_t rows : {2, 30}) {
    recipe r = {.rows = rows, .keys = 300, .dim = 4, .value_dim = 20, .causal = false};
    for (const auto& [first, last] : {std::pair{7, 8}, std::pair{0, 16}, std::pair{100, 299}, std::pair{0, 256},
                                      std::pair{256, 300}, std::pair{0, 300}}) {
      workload w(r, seed());
      w.q.for_each_row([&](std::int64_t, std::int64_t row, std::int64_t) { w.q.at(0, row, 0, 2) = 1.0f; });
      for (std::int64_t key = first; key < last; ++key) {
        w.k.at(0, key, 0, 2) = -infinity;
        std::ranges::fill(w.v.row(0, key, 0), quiet_nan);
      }
      INFO("keys " << first << " to " << last);
      require(verify(ctx, w));
      if (last - first == r.keys) CHECK(std::ranges::all_of(w.lse.elements(), [](float x) { return x == -infinity; }));
    }
  }
}

TEST_CASE("A score of -1e9 is a number: the bits of -inf beside another key, and a mean where it is all there is") {
  const context ctx = context_under_test();
  // Scores are the first elements of the keys.
  const auto with_scores = [&](float low, std::int64_t first, std::int64_t last) {
    workload w({.rows = 3, .keys = 300, .dim = 2, .value_dim = 4, .causal = false, .scale = 1.0f}, seed());
    for (std::int64_t row = 0; row < 3; ++row) w.q.at(0, row, 0, 0) = 1.0f, w.q.at(0, row, 0, 1) = 0.0f;
    for (std::int64_t key = first; key < last; ++key) w.k.at(0, key, 0, 0) = low;
    for (std::int64_t key = 0; key < 300; ++key) w.v.at(0, key, 0, 0) = static_cast<float>(key);
    require(verify(ctx, w));
    return results_of(w);
  };
  for (const auto& [first, last] : {std::pair{7, 8}, std::pair{0, 256}, std::pair{16, 300}, std::pair{1, 300}})
    require(compare_bits(with_scores(-1e9f, first, last), with_scores(-infinity, first, last)));
  const float_rows all_low = with_scores(-1e9f, 0, 300), none = with_scores(-infinity, 0, 300);
  CHECK(all_low.out[0] == 149.5f);
  CHECK(all_low.lse[0] == -1e9f);
  CHECK(none.out[0] == 0.0f);
  CHECK(none.lse[0] == -infinity);
}
