/// The canonical order where the result is known: closed forms, extremes, and NaN.

#include <cmath>

#include "reference/compare.hpp"
#include "reference/inputs.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// |found - expected| in units of the last place of expected, which is normal or zero.
double ulps(float found, double expected) {
  if (expected == 0) return found == 0 ? 0.0 : HUGE_VAL;
  return std::abs(static_cast<double>(found) - expected) / std::ldexp(1.0, std::ilogb(expected) - 23);
}

/// Every key with the same score: the output is the mean of the values.
row_inputs row_of_equal_scores(std::int64_t keys, float score = 0.0f) {
  return row_with_scores(std::vector<float>(static_cast<std::size_t>(keys), score), 4);
}

/// Values from which the mean index of the keys can be read off: index mod 256, index / 256, one, parity.
void mark_with_indices(row_inputs& r) {
  for (std::int64_t j = 0; j < r.keys; ++j) {
    float* v = r.value(j);
    v[0] = static_cast<float>(j % 256);
    v[1] = static_cast<float>(j / 256);
    v[2] = 1.0f;
    v[3] = static_cast<float>(j % 2);
  }
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("equal scores give the mean of the values, exactly where it is a float", "",
                       ((bool Fused), Fused), true, false) {
  for (const std::int64_t keys : {1, 2, 9, 17, 33, 65, 127, 256, 257, 2049, 4096, 70'000})
    for (const float score : {0.0f, -200.0f}) {
      row_inputs r = row_of_equal_scores(keys, score);
      mark_with_indices(r);
      const auto found = reference::canonical<Fused>(r.row());
      CAPTURE(keys, score);
      CHECK(found.out[2] == 1.0f);
      if (keys % 2 == 0) CHECK(found.out[3] == 0.5f);
      CHECK(ulps(found.lse, static_cast<double>(score) + std::log(static_cast<double>(keys))) <= 1.0);
      if (keys <= 4096) {
        const double mean = 256.0 * static_cast<double>(found.out[1]) + static_cast<double>(found.out[0]);
        CHECK(std::abs(mean - static_cast<double>(keys - 1) / 2) <= 1e-3);
      }
    }
}

TEMPLATE_TEST_CASE_SIG("a band of ten keys, far from either end", "", ((bool Fused), Fused), true, false) {
  for (const std::int64_t keys : {513, 600, 640, 1025})
    for (const std::int64_t row : {std::int64_t{9}, std::int64_t{255}, std::int64_t{260}, keys - 1}) {
      row_inputs r = row_of_equal_scores(keys);
      mark_with_indices(r);
      r.visible = {{row - 9, row + 1}};
      const auto found = reference::canonical<Fused>(r.row());
      CAPTURE(keys, row);
      CHECK(found.out[2] == 1.0f);
      CHECK(found.out[3] == 0.5f);
      const double mean = 256.0 * static_cast<double>(found.out[1]) + static_cast<double>(found.out[0]);
      CHECK(std::abs(mean - (static_cast<double>(row) - 4.5)) <= 1e-4);
      CHECK(found.lse == static_cast<float>(std::log(10.0)));
    }
}

TEMPLATE_TEST_CASE_SIG("one visible key gives its value", "", ((bool Fused), Fused), true, false) {
  row_inputs r = row_with_scores(std::vector<float>(600, 1.0f), 3);
  for (const std::int64_t key : {0, 15, 16, 255, 256, 599}) {
    r.value(key)[0] = 0x1.234566p-130f;  // subnormal
    r.value(key)[1] = -0.0f;
    r.value(key)[2] = largest;
    r.visible = {{key, key + 1}};
    const auto found = reference::canonical<Fused>(r.row());
    CAPTURE(key);
    CHECK(found.out[0] == 0x1.234566p-130f);
    CHECK(bits_of(found.out[1]) == 0);  // -0.0 becomes +0.0
    CHECK(found.out[2] == largest);
    CHECK(found.lse == 1.0f);
  }
}

TEMPLATE_TEST_CASE_SIG("a negative result that underflows is +0", "", ((bool Fused), Fused), true, false) {
  row_inputs r = row_with_scores({0.0f, 0.0f, 0.0f});
  r.v = {-0x1p-149f, 0.0f, 0.0f};  // a third of the smallest float, in the division
  CHECK(bits_of(reference::canonical<Fused>(r.row()).out[0]) == 0);
  r.k = {-80.0f, 0.0f, 0.0f};
  r.v = {-0x1p-100f, 0.0f, 0.0f};  // in the product
  CHECK(bits_of(reference::canonical<Fused>(r.row()).out[0]) == 0);
}

TEMPLATE_TEST_CASE_SIG("large scores neither overflow nor lose their maximum", "", ((bool Fused), Fused), true, false) {
  // Products of 2^33: beyond what 16 bits hold.
  row_inputs r = row_with_scores({0.0f, 0.0f});
  r.dim = 128;
  r.scale = static_cast<float>(1 / std::sqrt(128.0));
  r.q.assign(128, 256.0f);
  r.k.assign(256, 256.0f);
  std::fill_n(r.key(1), 128, -256.0f);
  r.v = {1.0f, 2.0f};
  const auto apart = reference::canonical<Fused>(r.row());
  const auto exact = reference::attention(r.row());
  CHECK(apart.out[0] == 1.0f);
  share_of_bound(apart, exact);
  CHECK(std::abs(exact.lse - 741455.2001894652) <= 0x1p-24 * 741455.2);  // the scale is rounded

  // Sixteen equal ones of 10^12: a maximum and an exponent that are rounded differently lose them all.
  for (const float scale : {0.125f, 0.088388346f, 0.3f}) {
    row_inputs equal = row_with_scores(std::vector<float>(16));
    equal.dim = 64;
    equal.scale = scale;
    equal.q.assign(64, 133120.0f);
    equal.k.assign(64 * 16, 133120.0f);
    equal.v.assign(16, 133120.0f);
    CAPTURE(scale);
    CHECK(reference::canonical<Fused>(equal.row()).out[0] == 133120.0f);
  }
}

TEMPLATE_TEST_CASE_SIG("the weight of a score d below another", "", ((bool Fused), Fused), true, false) {
  float last = 1.0f;
  for (const float d : {-1e-8f, -1e-3f, -0.34657f, -1.0f, -6.58261f, -10.0f, -20.0f, -50.0f, -87.0f, -87.33f, -88.0f,
                        -88.37f, -90.0f, -103.0f, -104.0f, -1e30f}) {
    row_inputs r = row_with_scores({0.0f, d});
    r.v = {0.0f, 1.0f};
    const float weight = reference::canonical<Fused>(r.row()).out[0];
    const double exact = std::exp(static_cast<double>(d)) / (1 + std::exp(static_cast<double>(d)));
    CAPTURE(d, weight, exact);
    if (d >= -87.3f) CHECK(ulps(weight, exact) <= 4.0);
    CHECK(weight >= 0.0f);
    CHECK(weight <= last);
    if (d < -87.34f) CHECK(weight == 0.0f);
    last = weight;
  }
}

TEMPLATE_TEST_CASE_SIG("a cap keeps extreme scores finite", "", ((bool Fused), Fused), true, false) {
  for (const float score : {1.0f, 100.0f, 1000.0f, 3000.0f, 4400.0f, 5000.0f, 1e4f, -1e4f, 3e38f, -3e38f}) {
    row_inputs r = row_of_weights({score, 0.0f});
    r.soft_cap = 50.0f;
    CAPTURE(score);
    share_of_bound(reference::canonical<Fused>(r.row()), reference::attention(r.row()));
  }
  row_inputs r = row_with_scores({1.0f, 0.0f});
  r.v = {1.0f, 0.0f};
  r.soft_cap = 2.0f;
  CHECK(ulps(reference::canonical<Fused>(r.row()).out[0], 0.7159040902975481) <= 4.0);
  CHECK(ulps(reference::canonical<Fused>(r.row()).lse, 1.258443387612291) <= 4.0);
  r.soft_cap = 0.0f;  // none
  CHECK(ulps(reference::canonical<Fused>(r.row()).out[0], 0.7310585786300049) <= 4.0);
}

TEMPLATE_TEST_CASE_SIG("a sink counts once, among the scores", "", ((bool Fused), Fused), true, false) {
  const auto with = [](float score, float sink, std::size_t keys) {
    row_inputs r = row_with_scores(std::vector<float>(keys, score));
    r.v.assign(keys, 1.0f);
    r.sink = sink;
    return reference::canonical<Fused>(r.row());
  };
  CHECK(ulps(with(0.0f, static_cast<float>(std::log(4.0)), 4).out[0], 0.5) <= 4.0);
  CHECK(ulps(with(0.0f, static_cast<float>(std::log(4.0)), 4).lse, std::log(8.0)) <= 2.0);
  CHECK(with(0.0f, 1000.0f, 2).out[0] == 0.0f);
  CHECK(with(0.0f, 1000.0f, 2).lse == 1000.0f);
  CHECK(with(-200.0f, 0.0f, 4).out[0] == 0.0f);
  CHECK(with(-2000.0f, -1000.0f, 4).out[0] == 0.0f);
  CHECK(with(-2000.0f, -1000.0f, 4).lse == -1000.0f);
  CHECK(with(-1000.0f, -2000.0f, 4).out[0] == 1.0f);
  // Once, however many splits there are.
  CHECK(with(0.0f, static_cast<float>(std::log(1024.0)), 1024).out[0] == 0.5f);
}

TEMPLATE_TEST_CASE_SIG("slopes halve weights per key", "", ((bool Fused), Fused), true, false) {
  row_inputs r = row_of_weights(std::vector<float>(4));
  for (const int bits_per_key : {1, 2}) {
    r.slope = static_cast<float>(bits_per_key * std::log(2.0));
    const double sum = bits_per_key == 1 ? 15 : 85;
    const auto found = reference::canonical<Fused>(r.row());
    for (int j = 0; j < 4; ++j)
      CHECK(ulps(found.out[static_cast<std::size_t>(j)], std::ldexp(1.0, bits_per_key * j) / sum) <= 4.0);
  }
}

TEMPLATE_TEST_CASE_SIG("NaN or +inf in a score is NaN in the whole row, whatever its lane", "", ((bool Fused), Fused),
                       true, false) {
  for (const float bad : {not_a_number, -not_a_number, infinity})
    for (std::int64_t key = 0; key < 40; ++key) {
      row_inputs r = row_with_scores(std::vector<float>(40, 1.0f), 3);
      r.k[static_cast<std::size_t>(key)] = bad;
      CAPTURE(bad, key);
      const auto among_others = reference::canonical<Fused>(r.row());
      r.visible = {{key, key + 1}};  // the only one: still not "sees nothing"
      const auto alone = reference::canonical<Fused>(r.row());
      for (const auto& found : {among_others, alone}) {
        for (const float x : found.out) CHECK(bits_of(x) == numeric::canonical_nan_bits);
        CHECK(bits_of(found.lse) == numeric::canonical_nan_bits);
      }
    }
}

TEMPLATE_TEST_CASE_SIG("NaN in a value is NaN in its column", "", ((bool Fused), Fused), true, false) {
  row_inputs r = row_with_scores(std::vector<float>(300, 1.0f), 3);
  for (const std::int64_t key : {0, 17, 255, 256, 299}) {
    row_inputs bad = r;
    bad.value(key)[1] = -not_a_number;
    const auto found = reference::canonical<Fused>(bad.row());
    CAPTURE(key);
    CHECK(found.out[0] == 0.0f);
    CHECK(bits_of(found.out[1]) == numeric::canonical_nan_bits);
    CHECK(found.out[2] == 0.0f);
    CHECK(std::isfinite(found.lse));
  }
}

TEMPLATE_TEST_CASE_SIG("integers of scale zero give exact zeros", "", ((bool Fused), Fused), true, false) {
  row_inputs r = row_with_scores({0.0f, 0.0f, 0.0f});
  r.k_integers = {127, -128, 5};
  r.k_scales = {0.0f, 0.0f, 0.0f};
  r.v_integers = {127, -128, -1};
  r.v_scales = {0.0f, 0.0f, 0.0f};
  const auto found = reference::canonical<Fused>(r.row());
  CHECK(bits_of(found.out[0]) == 0);
  CHECK(found.lse == static_cast<float>(std::log(3.0)));
}
