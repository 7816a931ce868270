/// The projection behind attention: the bits of the canonical order, whatever the shape, the storage and the threads.

#include "tril/projection.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>

#include "reference/projection.hpp"
#include "support/context.hpp"
#include "support/require.hpp"
#include "support/shapes.hpp"
#include "support/tensor.hpp"
#include "support/workload.hpp"
#include "tril/attention.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// A weight [out][in] and a bias, contiguous.
struct layer {
  std::int64_t in, out;
  guarded<float> weight, bias;

  layer(std::int64_t in_size, std::int64_t out_size, std::uint32_t salt, values kind = values::uniform)
      : in(in_size),
        out(out_size),
        weight(generate(kind, static_cast<std::size_t>(in * out), derived_seed(seed(), salt))),
        bias(generate(kind, static_cast<std::size_t>(out), derived_seed(seed(), salt + 1))) {}

  linear with_bias() const { return {.in = in, .out = out, .weight = weight.data(), .bias = bias.data()}; }
  linear without_bias() const { return {.in = in, .out = out, .weight = weight.data()}; }
};

float_tensor random_rows(std::array<std::int64_t, 4> extents, const storage& how = {}, values kind = values::uniform) {
  float_tensor x(extents, how, poison);
  const auto all = generate(kind, static_cast<std::size_t>(extents[0] * extents[1] * extents[2] * extents[3]),
                            derived_seed(seed(), 77));
  auto next = all.begin();
  x.for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
    for (float& element : x.row(batch, token, head)) element = *next++;
  });
  return x;
}

/// What the projection makes of x, stored as `how` says; checks that exactly the elements of y were written.
std::vector<float> projected(const projection& p, const float_tensor& x, std::int64_t out, const storage& how = {}) {
  const auto& extents = x.layout().extents;
  const float_tensor y({extents[0], extents[1], 1, out}, how, canary);
  require(p.run({x.data(), x.layout()}, {y.data(), y.layout()}));
  REQUIRE(y.holds_fill_except([](std::int64_t, std::int64_t) { return true; }));
  return y.elements();
}

std::vector<float> projected(const context& ctx, const linear& l, const float_tensor& x) {
  const projection p(ctx, l);
  require(p.status());
  return projected(p, x, l.out);
}

/// What the canonical order makes of it, of a contiguous weight.
std::vector<float> canonical(const context& ctx, const linear& l, const float_tensor& x) {
  const std::vector<float> rows = x.elements();
  std::vector<float> all;
  for (std::size_t first = 0; first < rows.size(); first += static_cast<std::size_t>(l.in)) {
    const auto y =
        reference::canonical_projection(kernels_of(ctx).fused, {&rows[first], l.weight, l.bias, l.in, l.out});
    all.insert(all.end(), y.begin(), y.end());
  }
  return all;
}

void require_canonical(const context& ctx, const linear& l, const float_tensor& x) {
  CAPTURE(l.in, l.out, l.bias != nullptr, x.layout().extents[1], x.layout().extents[2]);
  require(compare_bits(projected(ctx, l, x), canonical(ctx, l, x), static_cast<std::size_t>(l.out)));
}

}  // namespace

TEST_CASE("A projection has the bits of the canonical order around every size of a tile") {
  const context ctx = context_under_test();
  const contract::tile_sizes& tiles = kernels_of(ctx).tiles;
  const layer small(19, 37, 1);
  std::vector<std::int64_t> rows = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 200};
  for (const std::int64_t tile : {tiles.qk_rows, tiles.block_rows})
    for (const std::int64_t count : around(tile)) rows.push_back(count);
  for (const std::int64_t count : rows)
    for (const linear& l : {small.with_bias(), small.without_bias()})
      require_canonical(ctx, l, random_rows({1, count, 1, 19}));
  for (const std::int64_t count : {1, 3, 30})
    for (const std::int64_t in : {1, 2, 15, 16, 17, 255, 256, 257, 512, 1023, 1024, 1025, 2100})
      require_canonical(ctx, layer(in, 33, 2).with_bias(), random_rows({1, count, 1, in}));
  for (const std::int64_t count : {1, 2, 4, 30})
    for (const std::int64_t out : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 79, 80, 255, 256, 257, 273, 520})
      require_canonical(ctx, layer(21, out, 3).with_bias(), random_rows({1, count, 1, 21}));
}

TEST_CASE("Random projections: sequences, heads and their storage change no bit") {
  lcg random(seed());
  for (int i = 0; i < 60; ++i) {
    const context ctx = context_under_test(static_cast<int>(random.between(1, 3)));
    const std::int64_t batch = random.between(1, 3), rows = random.between(1, 200 / batch);
    const std::int64_t heads = random.between(1, 5), dim = random.between(1, 70), out = random.between(1, 150);
    const layer l(heads * dim, out, static_cast<std::uint32_t>(10 * i));
    const linear what = random.one_in(2) ? l.with_bias() : l.without_bias();
    const std::vector<float> expected = canonical(ctx, what, random_rows({batch, rows, heads, dim}));
    CAPTURE(batch, rows, heads, dim, out);
    const projection p(ctx, what);
    require(p.status());
    for (const storage& how : {token_major, head_major, random_storage(random)})
      require(compare_bits(projected(p, random_rows({batch, rows, heads, dim}, how), out, random_storage(random)),
                           expected, static_cast<std::size_t>(out)));
  }
}

TEST_CASE("Threads and the rows that come with a row change no bit of it") {
  const std::int64_t in = 600, out = 700, rows = 150;
  const layer l(in, out, 5);
  const float_tensor x = random_rows({1, rows, 1, in});
  const context ctx = context_under_test();
  const std::vector<float> expected = canonical(ctx, l.with_bias(), x);
  for (const int threads : {1, 2, 3, 7})
    require(compare_bits(projected(context_under_test(threads), l.with_bias(), x), expected, 700));
  for (const std::int64_t many : {20, 500, 2000}) {  // rows shared by tasks, and blocks enough for each to have its own
    const layer small(40, 20, 6);
    const float_tensor rows_of_many = random_rows({1, many, 1, 40});
    const std::vector<float> all = canonical(ctx, small.with_bias(), rows_of_many);
    for (const int threads : {1, 2, 5})
      require(compare_bits(projected(context_under_test(threads), small.with_bias(), rows_of_many), all, 20));
  }
  const projection p(ctx, l.with_bias());
  for (const std::int64_t count : {1, 2, 3, 5, 11, 64}) {
    for (std::int64_t first = 0; first + count <= rows; first += 29) {
      std::vector<float> y(static_cast<std::size_t>(count * out));
      require(p.run(bthd<const float>(&x.at(0, first, 0, 0), 1, count, 1, in), bthd(y.data(), 1, count, 1, out)));
      const std::span<const float> same(&expected[static_cast<std::size_t>(first * out)], y.size());
      require(compare_bits(y, same, 700));
    }
  }
}

TEST_CASE("A weight may have any strides, and goes away after it was packed") {
  const context ctx = context_under_test();
  for (const std::int64_t in : {1, 7, 40, 1100})
    for (const std::int64_t out : {1, 5, 16, 50}) {
      const layer l(in, out, 6);
      const float_tensor x = random_rows({1, 9, 1, in});
      const std::vector<float> expected = canonical(ctx, l.with_bias(), x);
      struct strides {
        std::int64_t of_out, of_in;
      };
      for (const auto& [of_out, of_in] :
           {strides{in, 1}, strides{1, out}, strides{in + 3, 1}, strides{2 * in, 2}, strides{3, 3 * out + 1}}) {
        CAPTURE(in, out, of_out, of_in);
        guarded<float> weight(static_cast<std::size_t>((out - 1) * of_out + (in - 1) * of_in + 1));
        guarded<float> bias(l.bias.span());
        for (std::int64_t o = 0; o < out; ++o)
          for (std::int64_t c = 0; c < in; ++c) weight.data()[o * of_out + c * of_in] = l.weight.data()[o * in + c];
        const projection p(ctx, {in, out, weight.data(), of_out, of_in, bias.data()});
        require(p.status());
        std::ranges::fill(weight.span(), quiet_nan);
        std::ranges::fill(bias.span(), quiet_nan);
        require(compare_bits(projected(p, x, out), expected, static_cast<std::size_t>(out)));
      }
    }
  // The same input weighs the same for all outputs.
  const float one[] = {1.0f, 2.0f, 3.0f};
  const float_tensor x = random_rows({1, 2, 1, 3});
  const projection broadcast(ctx, {.in = 3, .out = 20, .weight = one, .out_stride = 0, .in_stride = 1});
  const std::vector<float> y = projected(broadcast, x, 20);
  for (std::size_t i = 0; i < 20; ++i) CHECK(y[i] == y[0]);
}

TEST_CASE("The identity gives finite inputs back bit for bit, a negative zero as a positive one") {
  const context ctx = context_under_test();
  for (const values kind : all_values) {
    if (!is_finite(kind)) continue;
    for (const std::int64_t size : {1, 6, 48, 300}) {
      std::vector<float> identity(static_cast<std::size_t>(size * size));
      for (std::int64_t i = 0; i < size; ++i) identity[static_cast<std::size_t>(i * size + i)] = 1.0f;
      float_tensor x = random_rows({1, 14, 1, size}, {}, kind);
      x.at(0, 3, 0, 0) = -0.0f;
      x.at(0, 5, 0, size - 1) = 0x1p-149f;
      std::vector<float> expected = x.elements();
      for (float& value : expected)
        if (value == 0.0f) value = 0.0f;
      CAPTURE(name_of(kind), size);
      require(compare_bits(projected(ctx, {.in = size, .out = size, .weight = identity.data()}, x), expected,
                           static_cast<std::size_t>(size)));
    }
  }
}

TEST_CASE("A sum that underflows is a positive zero") {
  const context ctx = context_under_test();
  for (const std::int64_t out : {1, 40}) {
    const std::vector<float> weight(static_cast<std::size_t>(2 * out), 0x1p-140f);
    const std::vector<float> bias(static_cast<std::size_t>(out), -0.0f);
    const float_tensor x({1, 20, 1, 2}, {}, numeric::bits_as<std::uint32_t>(-0x1p-140f));
    for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
      const std::vector<float> y = projected(ctx, {.in = 2, .out = out, .weight = weight.data(), .bias = b}, x);
      require(compare_bits(y, std::vector<float>(y.size(), 0.0f), static_cast<std::size_t>(out)));
    }
  }
}

TEST_CASE("A projection is within the bound that its own sizes justify") {
  const context ctx = context_under_test();
  for (const values kind : all_values) {
    if (!is_finite(kind)) continue;
    for (const std::int64_t in : {15, 700}) {
      const layer l(in, 40, 8, kind);
      const float_tensor x = random_rows({1, 14, 1, in}, {}, kind);
      const std::vector<float> y = projected(ctx, l.with_bias(), x);
      std::vector<double> exact, bound;
      for (std::int64_t row = 0; row < 14; ++row) {
        const auto e = reference::projection({x.row(0, row, 0).data(), l.weight.data(), l.bias.data(), in, 40});
        exact.insert(exact.end(), e.y.begin(), e.y.end());
        bound.insert(bound.end(), e.bound.begin(), e.bound.end());
      }
      CAPTURE(name_of(kind), in);
      require(compare_within(y, exact, bound, 40));
    }
  }
}

TEST_CASE("Infinities and NaN go where IEEE 754 sends them, and no further") {
  const context ctx = context_under_test();
  const layer l(70, 50, 9);
  for (const float special : {infinity, -infinity, quiet_nan, -quiet_nan}) {
    float_tensor x = random_rows({1, 20, 1, 70});
    x.at(0, 13, 0, 69) = special;
    l.weight[5 * 70 + 3] = special;
    l.bias[49] = special;
    require_canonical(ctx, l.with_bias(), x);
    const std::vector<float> y = projected(ctx, l.with_bias(), x);
    for (std::size_t i = 0; i < y.size(); ++i)
      REQUIRE(std::isfinite(y[i]) == (i / 50 != 13 && i % 50 != 5 && i % 50 != 49));
  }
}

TEST_CASE("Three heads of five, concatenated by attention, are projected to seven") {
  const context ctx = context_under_test(2);
  workload w({.batch = 2, .rows = 11, .keys = 11, .q_heads = 3, .dim = 4, .value_dim = 5}, seed());
  const layer l(15, 7, 10);
  for (const storage& how : {token_major, head_major}) {
    const float_tensor heads({2, 11, 3, 5}, how, canary);
    require(attention(ctx, {w.q.data(), w.q.layout()}, {w.k.data(), w.k.layout()}, {w.v.data(), w.v.layout()},
                      {heads.data(), heads.layout()}));
    require_canonical(ctx, l.with_bias(), heads);
  }
}

TEST_CASE("A caller's rounding mode and threads change no bit of a projection") {
  const layer l(30, 300, 11, values::subnormal);
  const float_tensor x = random_rows({1, 100, 1, 30});
  int calls = 0;
  const auto backwards = [](void* self, std::int64_t count, void (*task)(void*, std::int64_t), void* closure) {
    ++*static_cast<int*>(self);
    for (std::int64_t i = count; i-- > 0;) task(closure, i);
  };
  const context ctx = context_under_test(3, {&calls, backwards});
  const std::vector<float> expected = canonical(ctx, l.with_bias(), x);
  for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const projection p(ctx, l.with_bias());
    std::vector<float> y(100 * 300);
    const status s = p.run({x.data(), x.layout()}, bthd(y.data(), 1, 100, 1, 300));
    const bool kept = std::fegetround() == mode;
    std::fesetround(FE_TONEAREST);
    require(s);
    CHECK(kept);
    require(compare_bits(y, expected, 300));
  }
  CHECK(calls >= 3);  // twice per run where tasks share rows, which are packed first
  const auto never = [](void*, std::int64_t, void (*)(void*, std::int64_t), void*) {};
  const projection p(context_under_test(2, {nullptr, never}), l.with_bias());
  std::vector<float> y(100 * 300);
  CHECK(p.run({x.data(), x.layout()}, bthd(y.data(), 1, 100, 1, 300)).code() == code::executor_failed);
}

TEST_CASE("Projecting no rows is valid") {
  const context ctx = context_under_test(2);
  const layer l(6, 4, 12);
  const projection p(ctx, l.without_bias());
  for (const std::array<std::int64_t, 2>& rows : {std::array<std::int64_t, 2>{0, 3}, {2, 0}})
    require(p.run(bthd<const float>(nullptr, rows[0], rows[1], 2, 3), bthd<float>(nullptr, rows[0], rows[1], 1, 4)));
}
