/// Outputs of the public call whose bits are written down. The canonical text that other tests compare with is of the
/// same build, and might be wrong with it: by its compiler, or on its machine.

#include <cstdio>

#include "numeric/canon.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"
#include "tril/projection.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// A problem with data of seed 1, and the hashes of its output in both families.
struct golden {
  const char* name;
  recipe problem;
  std::uint64_t fused, unfused;
};

const golden goldens[] = {
    {"prefill",
     {.rows = 70, .keys = 70, .q_heads = 2, .kv_heads = 2, .dim = 64, .value_dim = 64},
     0x4FF0D34B05BE80F9,
     0x4A5DA15D8FABF99E},
    {"grouped heads",
     {.rows = 40, .keys = 300, .q_heads = 6, .kv_heads = 2, .dim = 32, .value_dim = 32},
     0x396B3D2D4E64ECB1,
     0x2D677E49F994BEFD},
    {"chunk",
     {.rows = 50, .keys = 600, .q_heads = 2, .dim = 48, .value_dim = 80, .query_offset = {400}},
     0x4E57D1BAFD26D9A1,
     0x894AB53A0CBAA936},
    {"window",
     {.rows = 300, .keys = 300, .dim = 16, .value_dim = 16, .window = {.left = 100}},
     0xF6D4D039F92333FC,
     0xA4605DC0544720EF},
    {"window to both sides",
     {.rows = 60, .keys = 90, .dim = 24, .value_dim = 40, .causal = false, .window = {.left = 20, .right = 7}},
     0x84D1CC28ECCC4E36,
     0x8B491D433ABA0A87},
    {"not causal",
     {.rows = 33, .keys = 280, .q_heads = 3, .dim = 20, .value_dim = 12, .causal = false},
     0x2C6EDAA54A23440B,
     0xD0161E922B6F1C74},
    {"lengths",
     {.batch = 3,
      .rows = 20,
      .keys = 270,
      .q_heads = 4,
      .kv_heads = 2,
      .dim = 10,
      .value_dim = 17,
      .q_lengths = {20, 1, 7},
      .kv_lengths = {270, 257, 3}},
     0xEF8DD94B271C07F3,
     0x4FEF6DD912AD9CD0},
    {"spikes",
     {.rows = 35, .keys = 350, .dim = 64, .value_dim = 48, .q = values::spikes, .k = values::spikes},
     0x8EBF816BFF19007C,
     0xAB04609CEA8F59BA},
    {"scale", {.rows = 9, .keys = 40, .dim = 7, .value_dim = 5, .scale = 1.5f}, 0x7FE863DA2795C8C6, 0x6E34624698CF7377},
    {"subnormal values",
     {.rows = 12, .keys = 100, .dim = 8, .value_dim = 16, .v = values::subnormal},
     0xEEAB9E389D4CCE7A,
     0x8EC8B8C22944C8ED},
    {"decode",
     {.keys = 1500, .q_heads = 8, .kv_heads = 2, .dim = 64, .value_dim = 64},
     0x0383892AF65DA361,
     0x10C57BE5159F1FC9},
    {"decode of a few",
     {.rows = 3, .keys = 700, .q_heads = 5, .dim = 33, .value_dim = 50},
     0xCBCB421B3D9B01C4,
     0xA9D18091F6BD599F},
};

/// 64-bit FNV-1a over the bit patterns, low bytes first.
std::uint64_t hash(const float_rows& rows) {
  std::uint64_t h = 0xCBF29CE484222325u;
  for (const std::vector<float>* part : {&rows.out, &rows.lse})
    for (const float x : *part)
      for (int shift = 0; shift < 32; shift += 8)
        h = (h ^ (numeric::bits_as<std::uint32_t>(x) >> shift & 0xFF)) * 0x100000001B3u;
  return h;
}

/// If a change of the bits is meant, arithmetic_version goes up with it.
void check(const context& ctx, const char* name, const float_rows& actual, std::uint64_t fused, std::uint64_t unfused) {
  const bool is_fused = kernels_of(ctx).fused;
  const std::uint64_t h = hash(actual);
  char text[200];
  std::snprintf(text, sizeof text, "%s: %s 0x%016llX, arithmetic version %d", name, is_fused ? "fused" : "unfused",
                static_cast<unsigned long long>(h), numeric::arithmetic_version);
  INFO(text);
  CHECK(h == (is_fused ? fused : unfused));
}

}  // namespace

TEST_CASE("The bits of the public call are those written down") {
  for (const int threads : {1, 2}) {
    const context ctx = context_under_test(threads);
    for (const golden& g : goldens) {
      workload w(g.problem, 1);
      require(w.run(ctx));
      check(ctx, g.name, results_of(w), g.fused, g.unfused);
    }
  }
}

TEST_CASE("The bits of a projection are those written down") {
  constexpr std::int64_t rows = 41, heads = 3, dim = 50, in = heads * dim, out = 37;
  const auto numbers = [](std::int64_t count, std::uint32_t of) {
    return generate(values::uniform, static_cast<std::size_t>(count), of);
  };
  const std::vector<float> x = numbers(rows * in, 1), weight = numbers(out * in, 2), bias = numbers(out, 3);
  for (const int threads : {1, 2}) {
    const context ctx = context_under_test(threads);
    const projection p(ctx, {.in = in, .out = out, .weight = weight.data(), .bias = bias.data()});
    float_rows y{std::vector<float>(rows * out), {}};
    require(p.run(bthd(x.data(), 1, rows, heads, dim), bthd(y.out.data(), 1, rows, 1, out)));
    check(ctx, "projection", y, 0xA246549CB5CE7D19, 0x9B421CE7E256D81B);
  }
}
