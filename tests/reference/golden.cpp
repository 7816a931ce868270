/// Outputs whose bits are written down, so that they cannot drift unnoticed.

#include <cstdio>

#include "reference/compare.hpp"
#include "reference/inputs.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// Exact floats from integers: no library function, no compiler has a say in them.
class integer_floats {
 public:
  explicit integer_floats(std::uint32_t seed) : state_(seed) {}

  std::uint32_t bits() { return state_ = state_ * 1664525u + 1013904223u; }

  /// A multiple of 2^-16 in [-2, 2).
  float operator()() { return static_cast<float>(static_cast<std::int32_t>(bits()) >> 14) * 0x1p-16f; }

  std::vector<float> operator()(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& x : values) x = (*this)();
    return values;
  }
  std::vector<std::int8_t> integers(std::int64_t count) {
    std::vector<std::int8_t> values(static_cast<std::size_t>(count));
    for (std::int8_t& x : values) x = static_cast<std::int8_t>(static_cast<std::int32_t>(bits()) >> 24);
    return values;
  }
  std::vector<float> scales(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& x : values) x = static_cast<float>(1 + (bits() >> 24)) * 0x1p-13f;
    return values;
  }

 private:
  std::uint32_t state_;
};

row_inputs golden_row(std::uint32_t seed, std::int64_t keys, std::int64_t dim, std::int64_t value_dim, float scale) {
  integer_floats next(seed);
  row_inputs r{};
  r.dim = dim;
  r.value_dim = value_dim;
  r.keys = keys;
  r.position = keys - 1;
  r.scale = scale;
  r.q = next(dim);
  r.k = next(keys * dim);
  r.v = next(keys * value_dim);
  r.visible = {{0, keys}};
  return r;
}

void add_mask(row_inputs& r) {
  integer_floats next(4);
  for (std::int64_t j = 0; j < r.keys; ++j) r.mask.push_back(next.bits() >> 30 != 0);
}

void add_bias(row_inputs& r) {
  integer_floats next(5);
  r.bias = next(r.keys);
  for (std::size_t j = 0; j < r.bias.size(); j += 7) r.bias[j] = -infinity;
  for (std::size_t j = 3; j < r.bias.size(); j += 11) r.bias[j] = -largest;
}

void make_int8_keys(row_inputs& r) {
  integer_floats next(6);
  r.k_integers = next.integers(r.keys * r.dim);
  r.k_scales = next.scales(r.keys);
}

void make_int8_values(row_inputs& r) {
  integer_floats next(7);
  r.v_integers = next.integers(r.keys * r.value_dim);
  r.v_scales = next.scales(r.keys);
}

/// 64-bit FNV-1a over the bit patterns of out and lse, low bytes first.
std::uint64_t hash(const reference::float_row& r) {
  std::uint64_t h = 0xCBF29CE484222325u;
  const auto add = [&h](float x) {
    for (int shift = 0; shift < 32; shift += 8) h = (h ^ (bits_of(x) >> shift & 0xFF)) * 0x100000001B3u;
  };
  for (const float x : r.out) add(x);
  add(r.lse);
  return h;
}

struct golden {
  const char* name;
  row_inputs (*make)();
  std::uint64_t fused, unfused;
};

const golden goldens[] = {
    {"one split", [] { return golden_row(1, 100, 64, 64, 0.125f); }, 0xA8380AFA28B05F03, 0xD61E3ED9DAE8AD5D},
    {"six splits", [] { return golden_row(2, 1500, 16, 24, 0.25f); }, 0x7F67961DFA8DB63F, 0x3EE2115E30466283},
    {"wide heads", [] { return golden_row(3, 300, 576, 512, 0x1.555556p-5f); }, 0xE95F58594CA2D94A, 0x8F32B2759EBC10D7},
    {"several intervals",
     [] {
       row_inputs r = golden_row(8, 900, 32, 32, 0x1.6a09e6p-3f);
       r.visible = {{0, 4}, {250, 520}, {777, 778}, {880, 900}};
       return r;
     },
     0x58635F92869257E6, 0x07C8C331A33CD9EB},
    {"mask",
     [] {
       row_inputs r = golden_row(9, 700, 64, 32, 0.125f);
       add_mask(r);
       return r;
     },
     0xBA26D445807C598B, 0xE4188474859CFD94},
    {"bias",
     [] {
       row_inputs r = golden_row(10, 700, 64, 32, 0.125f);
       add_bias(r);
       return r;
     },
     0xF8889ACC0B0374AA, 0x7C334AA24CC5FB96},
    {"soft cap",
     [] {
       row_inputs r = golden_row(11, 600, 64, 32, 1.0f);
       r.soft_cap = 5.0f;
       return r;
     },
     0xED33DDEEEC434C8E, 0xF12D8F631F101F24},
    {"slope",
     [] {
       row_inputs r = golden_row(12, 600, 64, 32, 0.125f);
       r.slope = 0x1.8p-6f;
       return r;
     },
     0xA9A46CA1A9273F9A, 0x9C77643AC694612B},
    {"sink",
     [] {
       row_inputs r = golden_row(13, 600, 64, 32, 0.125f);
       r.sink = 3.5f;
       return r;
     },
     0x4E52890605CACE0D, 0x0D521177F42DA956},
    {"int8 keys",
     [] {
       row_inputs r = golden_row(14, 600, 64, 32, 0.125f);
       make_int8_keys(r);
       return r;
     },
     0x8F08673D28019505, 0x11B0989E8F165243},
    {"int8 values",
     [] {
       row_inputs r = golden_row(15, 600, 64, 32, 0.125f);
       make_int8_values(r);
       return r;
     },
     0xF8F786A7229FCE9B, 0x29BA64CF5E93DB9B},
    {"everything",
     [] {
       row_inputs r = golden_row(16, 1000, 48, 40, 0.375f);
       r.visible = {{0, 4}, {100, 990}};
       r.position = 800;
       add_mask(r);
       add_bias(r);
       make_int8_keys(r);
       make_int8_values(r);
       r.soft_cap = 7.0f;
       r.slope = 0x1.8p-5f;
       r.sink = -1.5f;
       return r;
     },
     0x1E3F21DD248431B9, 0xFD2F317031A157E6},
};

}  // namespace

TEST_CASE("the bits of the canonical order are those written down") {
  for (const golden& g : goldens) {
    const row_inputs r = g.make();
    const std::uint64_t fused = hash(reference::canonical<true>(r.row()));
    const std::uint64_t unfused = hash(reference::canonical<false>(r.row()));
    char text[200];
    std::snprintf(text, sizeof text, "%s: fused 0x%016llX, unfused 0x%016llX, arithmetic version %d", g.name,
                  static_cast<unsigned long long>(fused), static_cast<unsigned long long>(unfused),
                  numeric::arithmetic_version);
    // If a change of the bits is meant, arithmetic_version goes up with it.
    INFO(text);
    CHECK(fused == g.fused);
    CHECK(unfused == g.unfused);
  }
}

TEST_CASE("the written down rows are within the definition's bound, and their hashes tell them apart") {
  std::vector<std::uint64_t> seen;
  for (const golden& g : goldens) {
    CAPTURE(g.name);
    const row_inputs r = g.make();
    const auto exact = reference::attention(r.row());
    CHECK(share_of_bound(reference::canonical<true>(r.row()), exact) > 0);
    CHECK(share_of_bound(reference::canonical<false>(r.row()), exact) > 0);
    for (const std::uint64_t h : {g.fused, g.unfused}) {
      CHECK(std::count(seen.begin(), seen.end(), h) == 0);
      seen.push_back(h);
    }
  }
}
