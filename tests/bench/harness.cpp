/// The yardsticks of the benchmarks: what they count, and that the calls they time do what they say.

#include "reference/canonical.hpp"
#include "support/attention_case.hpp"
#include "support/catch.hpp"
#include "support/limits.hpp"

#include <cstring>
#include <numeric>

namespace tril::bench {
namespace {

const tool::preset small = {.name = "", .q_heads = 6, .kv_heads = 2, .dim = 24, .value_dim = 40};

tool::preset with_window(std::int64_t left) {
  tool::preset m = small;
  m.window_left = left;
  return m;
}

tool::preset full() {
  tool::preset m = small;
  m.causal = false;
  return m;
}

std::vector<shape> shapes() {
  return {{.name = "causal", .model = small},
          {.name = "batch", .model = small, .batch = 3},
          {.name = "full", .model = full()},
          {.name = "window", .model = with_window(19)},
          {.name = "chunk", .model = small, .chunk = 33},
          {.name = "mla", .model = *tool::find_preset("deepseek-v3"), .chunk = 2}};
}

template <class Use>
void for_each_case(Use use) {
  for_each_setting(shapes(), {1, 300}, [&](const setting& s) {
    if (s.what.chunk > s.tokens) return;
    INFO(s.name("prefill"));
    use(s, attention_case(s));
  });
}

TEST_CASE("Flops are those of the visible pairs") {
  for_each_case([](const setting& s, const attention_case& c) {
    std::int64_t pairs = 0;
    for (std::int64_t i = 0; i < s.rows(); ++i)
      for (std::int64_t j = 0, p = s.tokens - s.rows() + i; j < s.tokens; ++j)
        pairs +=
            (!s.what.model.causal || j <= p) && (s.what.model.window_left < 0 || j >= p - s.what.model.window_left);
    const tool::preset& m = s.what.model;
    CHECK(c.flops() == 2.0 * static_cast<double>((m.dim + m.value_dim) * m.q_heads * s.what.batch * pairs));
  });
}

TEST_CASE("A timed call computes the case's attention, in token-major order") {
  for_each_case([](const setting& s, const attention_case& c) {
    REQUIRE(c.run() > 0);
    const problem& p = c.shape();
    const std::int64_t heads = s.what.model.q_heads, value_dim = s.what.model.value_dim;
    CHECK(p.q.strides[2] == s.what.model.dim);
    for (const std::int64_t i : {std::int64_t{0}, s.rows() / 2, s.rows() - 1})
      for (const std::int64_t h : {std::int64_t{0}, heads - 1}) {
        const std::int64_t sequence = s.what.batch - 1;
        const auto row = reference::canonical(kernels_of(s.isa).fused, reference::row_of(p, c.data(), sequence, i, h));
        const float* out =
            static_cast<const float*>(c.data().out) + ((sequence * s.rows() + i) * heads + h) * value_dim;
        CHECK(std::memcmp(out, row.out.data(), sizeof(float) * row.out.size()) == 0);
      }
  });
}

TEST_CASE("Whole tiles compute at least what is visible, and within reason") {
  for_each_case([](const setting& s, const attention_case& c) {
    const auto& tiles = kernels_of(s.isa).tiles;
    const double pairs = c.flops() / static_cast<double>(2 * (s.what.model.dim + s.what.model.value_dim));
    const auto rows = static_cast<double>(s.rows() * s.what.model.q_heads * s.what.batch);
    const double ratio = c.computed_over_visible();
    CHECK(ratio >= 1);
    // The last tile of a block may be nearly empty. A block is as full as whole groups make it, but for a unit's last.
    const std::int64_t units = s.what.model.kv_heads * s.what.batch,
                       group = s.what.model.q_heads / s.what.model.kv_heads;
    const double blocks =
        rows / std::max<double>(1, tiles.block_rows - static_cast<double>(group) + 1) + static_cast<double>(units);
    const double padded_rows = rows + tiles.qk_rows * blocks;
    CHECK(ratio * pairs <= pairs + padded_rows * (tiles.qk_rows + 16.0 * tiles.qk_panels) +
                               (padded_rows - rows) * static_cast<double>(s.tokens));
  });
}

TEST_CASE("The read probe reads every value once") {
  std::vector<float> values(128 * 37);
  std::iota(values.begin(), values.end(), 1.0f);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for_each_setting({{.name = "", .model = small}}, {1}, [&](const setting& s) {
    INFO(s.isa);
    // Sums of integers below 2^24 are exact in any order.
    CHECK(static_cast<double>(kernels_of(s.isa).read(values.data(), std::ssize(values))) == sum);
    CHECK(limits(kernels_of(s.isa), s.threads).bandwidth(std::vector<std::span<const float>>{values}) > 0);
  });
}

TEST_CASE("The multiply-add probe counts what it computes") {
  for_each_setting({{.name = "", .model = small}}, {1}, [&](const setting& s) {
    INFO(s.isa);
    const auto& kernels = kernels_of(s.isa);
    for (const bool many : {false, true}) {
      contract::peak_args once{.steps = 1, .many = many, .flops = 0, .result = 0};
      kernels.peak(once);
      // Chain i starts at i and takes one step of 0.9375 x 0.0625. Their sum tells how many there were.
      const double chains = once.flops / 2 / kernels.width;
      CHECK(static_cast<double>(once.result) == chains * (chains - 1) / 2 + 0.9375 * 0.0625 * chains);
      contract::peak_args more{.steps = 1000, .many = many, .flops = 0, .result = 0};
      kernels.peak(more);
      CHECK(more.flops == 1000 * once.flops);
    }
  });
}

TEST_CASE("A median is the middle one, or the mean of the middle two") {
  CHECK(median(std::vector<double>{3, 1, 2}) == 2);
  CHECK(median(std::vector<double>{4, 1, 3, 2}) == 2.5);
  CHECK(median({}) == 0);
}

TEST_CASE("Names say what is measured, where") {
  const setting s = {{.name = "qwen3-0.6b", .model = *tool::find_preset("qwen3-0.6b")}, 2048, 1, "avx512"};
  CHECK(s.name("prefill") == "prefill/f32/qwen3-0.6b/2048/1/avx512");
  CHECK(s.rows() == 2048);
  CHECK(setting{{.name = "", .model = small, .chunk = 512}, 2048, 1, "scalar"}.rows() == 512);
  CHECK(preset_shapes().size() == 10);
}

}  // namespace
}  // namespace tril::bench
