/// What a row does not see has no effect on any bit of it.

#include <cmath>

#include "reference/compare.hpp"
#include "reference/inputs.hpp"

using namespace tril;
using namespace tril::test;

namespace {

modifiers float_modifiers(std::mt19937& random) {
  return {.soft_cap = random() % 2 == 0,
          .bias = random() % 2 == 0,
          .slope = random() % 2 == 0,
          .sink = random() % 2 == 0,
          .mask = random() % 2 == 0,
          .several_intervals = random() % 2 == 0};
}

/// Overwrites everything that belongs to hidden keys, except for what hides them.
row_inputs poisoned(row_inputs r, float poison) {
  for (std::int64_t j = 0; j < r.keys; ++j) {
    if (r.sees(j)) continue;
    const auto i = static_cast<std::size_t>(j);
    if (r.k_scales.empty()) std::fill_n(r.key(j), r.dim, poison);
    if (r.v_scales.empty()) std::fill_n(r.value(j), r.value_dim, poison);
    if (!r.k_scales.empty()) r.k_scales[i] = poison;
    if (!r.v_scales.empty()) r.v_scales[i] = poison;
    const bool hidden_by_bias = !r.bias.empty() && r.bias[i] == -infinity;
    if (!r.bias.empty() && !hidden_by_bias) r.bias[i] = poison;
  }
  return r;
}

/// Hides a key by one means.
struct hiding {
  const char* name;
  void (*hide)(row_inputs&, std::int64_t key);
};

constexpr hiding by_all_means[] = {
    {"interval",
     [](row_inputs& r, std::int64_t key) {
       std::vector<reference::key_interval> visible;
       for (const auto& [first, last] : r.visible) {
         const std::int64_t before = std::clamp(key, first, last), after = std::clamp(key + 1, first, last);
         if (first < before) visible.push_back({first, before});
         if (after < last) visible.push_back({after, last});
       }
       r.visible = visible;
     }},
    {"mask",
     [](row_inputs& r, std::int64_t key) {
       if (r.mask.empty()) r.mask.assign(static_cast<std::size_t>(r.keys), 1);
       r.mask[static_cast<std::size_t>(key)] = 0;
     }},
    {"bias",
     [](row_inputs& r, std::int64_t key) {
       if (r.bias.empty()) r.bias.assign(static_cast<std::size_t>(r.keys), 0.0f);
       r.bias[static_cast<std::size_t>(key)] = -infinity;
     }},
};

}  // namespace

TEMPLATE_TEST_CASE_SIG("hidden keys may hold anything", "", ((bool Fused), Fused), true, false) {
  std::mt19937 random(seed());
  int rows_with_hidden_keys = 0;
  for (int i = 0; i < 300; ++i) {
    modifiers has = float_modifiers(random);
    has.int8_keys = random() % 2 == 0;
    has.int8_values = random() % 2 == 0;
    const row_inputs r = random_row(random, has);
    const reference::float_row clean = reference::canonical<Fused>(r.row());
    bool hides = false;
    for (std::int64_t j = 0; j < r.keys; ++j) hides = hides || !r.sees(j);
    rows_with_hidden_keys += hides;
    for (const float poison : {not_a_number, infinity, -infinity, 1e30f}) {
      CAPTURE(i, poison);
      const row_inputs bad = poisoned(r, poison);
      REQUIRE(same_bits(reference::canonical<Fused>(bad.row()), clean));
    }
  }
  CHECK(rows_with_hidden_keys > 200);
}

TEMPLATE_TEST_CASE_SIG("it does not matter what hides a key", "", ((bool Fused), Fused), true, false) {
  std::mt19937 random(seed());
  for (int i = 0; i < 100; ++i) {
    row_inputs plain = random_row(random, {});
    plain.visible = {{0, plain.keys}};
    std::vector<reference::float_row> results;
    const unsigned pattern = static_cast<unsigned>(random()) | 1;
    for (const hiding& means : by_all_means) {
      row_inputs r = plain;
      for (std::int64_t j = 0; j < r.keys; ++j)
        if (pattern >> j % 31 & 1) means.hide(r, j);
      results.push_back(reference::canonical<Fused>(r.row()));
    }
    CAPTURE(i, plain.keys);
    CHECK(same_bits(results[0], results[1]));
    CHECK(same_bits(results[0], results[2]));
  }
}

TEMPLATE_TEST_CASE_SIG("the cap does not bring a hidden key back", "", ((bool Fused), Fused), true, false) {
  // tanh(-inf) is -1: a key that is hidden before the cap would get the score -cap.
  for (const hiding& means : by_all_means) {
    row_inputs r = row_with_scores(std::vector<float>(65));
    r.soft_cap = 1.0f;
    r.v.assign(65, 1.0f);
    for (std::int64_t j = 1; j < 65; j += 2) {
      means.hide(r, j);
      r.v[static_cast<std::size_t>(j)] = 1e6f;
    }
    const auto found = reference::canonical<Fused>(r.row());
    CAPTURE(means.name);
    CHECK(found.out[0] == 1.0f);
    CHECK(found.lse == static_cast<float>(std::log(33.0)));
  }
}

TEMPLATE_TEST_CASE_SIG("a score of -inf hides its key, wherever it comes from", "", ((bool Fused), Fused), true,
                       false) {
  row_inputs r = row_with_scores({1.0f, -infinity, 2.0f, 0.5f});
  r.v = {1.0f, not_a_number, 2.0f, 3.0f};
  row_inputs without = r;
  without.mask = {1, 0, 1, 1};
  CHECK(same_bits(reference::canonical<Fused>(r.row()), reference::canonical<Fused>(without.row())));
  CHECK(std::isfinite(reference::canonical<Fused>(r.row()).out[0]));

  r.k[1] = -2.0f;  // overflow of the product with a scale
  r.scale = 0x1p127f;
  r.k[0] = r.k[2] = r.k[3] = 0.0f;
  CHECK(reference::canonical<Fused>(r.row()).out[0] == 2.0f);
}

TEMPLATE_TEST_CASE_SIG("a finite mask is as good as -inf while another key is visible", "", ((bool Fused), Fused), true,
                       false) {
  std::mt19937 random(seed());
  for (int i = 0; i < 200; ++i) {
    const float masked = i % 2 == 0 ? -1e9f : -largest;
    row_inputs finite = random_row(random, {});
    finite.visible = {{0, finite.keys}};
    finite.bias.assign(static_cast<std::size_t>(finite.keys), 0.0f);
    // At times whole splits are hidden.
    const std::int64_t first = static_cast<std::int64_t>(random()) % finite.keys;
    const std::int64_t last = first + static_cast<std::int64_t>(random()) % (finite.keys - first);
    for (std::int64_t j = 0; j < finite.keys; ++j)
      if (j < first || j > last || random() % 4 == 0) finite.bias[static_cast<std::size_t>(j)] = masked;
    finite.bias[static_cast<std::size_t>(first)] = 0.0f;
    row_inputs infinite = finite;
    for (float& b : infinite.bias)
      if (b != 0.0f) b = -infinity;
    CAPTURE(i, finite.keys, first, last);
    REQUIRE(same_bits(reference::canonical<Fused>(finite.row()), reference::canonical<Fused>(infinite.row())));
  }
}

TEMPLATE_TEST_CASE_SIG("a finite mask everywhere averages, -inf everywhere gives nothing", "", ((bool Fused), Fused),
                       true, false) {
  row_inputs r = row_with_scores({1.0f, -3.0f, 2.0f, 15.0f});
  r.v = {1.0f, 2.0f, 3.0f, 10.0f};
  for (const float bias : {-1e9f, -largest}) {
    r.bias.assign(4, bias);
    CHECK(reference::canonical<Fused>(r.row()).out[0] == 4.0f);
    CHECK(reference::canonical<Fused>(r.row()).lse == bias);
  }
  r.bias.assign(4, -infinity);
  const auto nothing = reference::canonical<Fused>(r.row());
  CHECK(bits_of(nothing.out[0]) == 0);
  CHECK(nothing.lse == -infinity);
  r.sink = 0.7f;
  CHECK(bits_of(reference::canonical<Fused>(r.row()).out[0]) == 0);
  CHECK(reference::canonical<Fused>(r.row()).lse == 0.7f);
}

TEMPLATE_TEST_CASE_SIG("a sink of -inf is none", "", ((bool Fused), Fused), true, false) {
  std::mt19937 random(seed());
  for (int i = 0; i < 100; ++i) {
    row_inputs r = random_row(random, float_modifiers(random));
    r.sink = -infinity;
    const auto none = reference::canonical<Fused>(r.row());
    r.sink = -largest;  // finite, but far below every score: it counts, as zero
    CAPTURE(i, none.lse);
    if (none.lse > -1e8f) CHECK(same_bits(reference::canonical<Fused>(r.row()), none));
    if (none.lse == -infinity) CHECK(reference::canonical<Fused>(r.row()).lse == -largest);
  }
}

TEST_CASE("weights that are masked after the softmax do not sum to one") {
  row_inputs r = row_of_weights({2.0f, 1.0f, 0.0f, 3.0f});
  const auto weights = reference::attention(r.row()).out;
  const double masked_afterwards = weights[0] + weights[1];
  CHECK(masked_afterwards < 0.5);

  r.visible = {{0, 2}};
  double sum = 0;
  for (const float weight : reference::canonical<true>(r.row()).out) sum += static_cast<double>(weight);
  CHECK(std::abs(sum - 1) < 1e-6);
}
