/// Sizes that are no multiple of anything, sizes of zero and one, and every way for a tensor to lie in memory.

#include <cmath>
#include <limits>
#include <string_view>

#include "cases/inputs.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

void store_all(recipe& r, const storage& how) {
  for (storage recipe::*which :
       {&recipe::q_storage, &recipe::k_storage, &recipe::v_storage, &recipe::out_storage, &recipe::lse_storage})
    r.*which = how;
}

}  // namespace

TEST_CASE("A transposed view that is read as if it were contiguous") {
  const context ctx = context_under_test();
  for (recipe r : {recipe{.batch = 1, .rows = 62, .keys = 62, .q_heads = 16, .kv_heads = 16, .dim = 128},
                   recipe{.batch = 84, .rows = 3, .keys = 3, .q_heads = 3, .kv_heads = 3, .dim = 64}}) {
    r.value_dim = r.dim;
    store_all(r, head_major);
    workload contiguous = random_workload(r);
    require(verify(ctx, contiguous));
    const float_rows expected = results_of(contiguous);
    for (unsigned transposed = 0; transposed < 8; ++transposed)
      for (const std::int64_t padding : {0, 5}) {
        r.q_storage = (transposed & 1) != 0 ? token_major : head_major;
        r.k_storage = (transposed & 2) != 0 ? token_major : head_major;
        r.v_storage = (transposed & 4) != 0 ? token_major : head_major;
        r.q_storage.padding = r.k_storage.padding = r.v_storage.padding = padding;
        workload w = random_workload(r);
        INFO(w.text());
        require(w.run(ctx));
        require(compare_bits(results_of(w), expected));
      }
  }
}

TEST_CASE("A size of zero that crashes, or writes") {
  const context ctx = context_under_test();
  const struct {
    std::int64_t recipe::*size;
    const char* refused_by;  // nullptr: nothing is wrong with it
  } cases[] = {{&recipe::batch, nullptr}, {&recipe::rows, nullptr}, {&recipe::keys, nullptr},  {&recipe::q_heads, "q:"},
               {&recipe::kv_heads, "k:"}, {&recipe::dim, "q:"},     {&recipe::value_dim, "v:"}};
  const auto null_if_empty = [](const float_tensor& t) {
    return mutable_tensor{t.elements().empty() ? nullptr : t.data(), t.layout()};
  };
  for (const auto& c : cases)
    for (const bool causal : {true, false}) {
      recipe r = {.batch = 2, .rows = 3, .keys = 5, .q_heads = 4, .kv_heads = 2, .dim = 8, .value_dim = 8};
      r.causal = causal;
      r.*c.size = 0;
      const workload w(r, 0);
      INFO(w.text());
      const status s = attention(ctx, null_if_empty(w.q), null_if_empty(w.k), null_if_empty(w.v), null_if_empty(w.out),
                                 {.causal = causal, .lse = null_if_empty(w.lse)});
      const auto written = [&](std::int64_t, std::int64_t) { return c.size == &recipe::keys; };
      CHECK(w.out.holds_fill_except(written));
      CHECK(w.lse.holds_fill_except(written));
      if (c.refused_by != nullptr) {
        CHECK(s.code() == code::invalid_argument);
        CHECK(std::string_view(s.message()).starts_with(c.refused_by));
        continue;
      }
      require(s);
      if (r.keys > 0) continue;
      for (const float x : w.out.elements()) REQUIRE(numeric::bits_as<std::uint32_t>(x) == 0);
      for (const float x : w.lse.elements()) REQUIRE(x == -infinity);
    }
}

TEST_CASE("A tail of dim, value_dim or keys that reads or writes too much or too little") {
  const context ctx = context_under_test();
  std::vector<std::int64_t> dims = {160, 192, 255, 256, 257, 512, 576};
  for (std::int64_t dim = 1; dim <= 130; ++dim) dims.push_back(dim);
  for (const std::int64_t dim : dims)
    for (const std::int64_t keys : {1, 2, 7, 15, 16, 17, 31, 33, 63, 65})
      for (const std::int64_t rows : {1, 3})
        for (const touching where : {touching::end, touching::start}) {
          recipe r = {.rows = rows, .keys = keys, .dim = dim, .value_dim = dim};
          store_all(r, {.padding = 3, .where = where});
          workload w = random_workload(r);
          require(verify(ctx, w));
        }
}

TEST_CASE("A scale from the dim of the values instead of the queries'") {
  const context ctx = context_under_test();
  recipe r = {.batch = 8, .rows = 1, .keys = 36, .q_heads = 4, .kv_heads = 1};
  store_all(r, head_major);
  const struct { std::int64_t dim, value_dim; } cases[] = {{32, 24}, {192, 128}, {64, 256}, {576, 512}};
  for (const auto& [dim, value_dim] : cases) {
    r.dim = dim;
    r.value_dim = value_dim;
    r.scale = {};
    workload by_default = random_workload(r);
    require(verify(ctx, by_default));
    r.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(dim)));
    workload given = random_workload(r);
    require(given.run(ctx));
    require(compare_bits(results_of(by_default), results_of(given)));
  }
}

TEST_CASE("A stride that is followed or refused although its extent is one") {
  const context ctx = context_under_test();
  constexpr std::int64_t absurd[] = {0, std::numeric_limits<std::int64_t>::max() / 8, -7, 2};
  const auto absurd_where_one = [&](const float_tensor& t) {
    layout l = t.layout();
    for (std::size_t axis = 0; axis < 4; ++axis)
      if (l.extents[axis] == 1) l.strides[axis] = absurd[axis];
    return mutable_tensor{t.data(), l};
  };
  const recipe none = {.batch = 2, .rows = 3, .keys = 5, .q_heads = 4, .kv_heads = 2, .dim = 8, .value_dim = 8};
  for (const std::vector<std::int64_t recipe::*>& ones : {std::vector{&recipe::batch},
                                                          {&recipe::rows},
                                                          {&recipe::keys},
                                                          {&recipe::kv_heads},
                                                          {&recipe::q_heads, &recipe::kv_heads},
                                                          {&recipe::dim},
                                                          {&recipe::value_dim}}) {
    recipe r = none;
    for (std::int64_t recipe::*one : ones) r.*one = 1;
    workload w = random_workload(r);
    require(verify(ctx, w));
    const float_rows expected = results_of(w);
    w.out.reset(canary);
    w.lse.reset(canary);
    INFO(w.text());
    require(attention(ctx, absurd_where_one(w.q), absurd_where_one(w.k), absurd_where_one(w.v), absurd_where_one(w.out),
                      {.lse = absurd_where_one(w.lse)}));
    require(compare_bits(results_of(w), expected));
  }
}

TEST_CASE("Data that is aligned to its elements and nothing else") {
  const context ctx = context_under_test();
  for (const std::int64_t rows : {1, 5, 40})
    for (std::int64_t lead = 1; lead < 16; ++lead) {
      recipe r = {.rows = rows, .keys = 40, .q_heads = 4, .kv_heads = 2, .dim = 64, .value_dim = 64};
      store_all(r, {.padding = 1, .lead = lead, .where = touching::start});
      workload w = random_workload(r);
      require(verify(ctx, w));
    }
}
