/// The definition against cases that can be computed by hand.

#include <cmath>

#include "reference/attention.hpp"
#include "reference/inputs.hpp"
#include "support/catch.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// In double, up to a few roundings.
bool near(double found, double expected) {
  return std::abs(found - expected) <= 0x1p-48 * std::max(1.0, std::abs(expected));
}

reference::exact_row exact(const row_inputs& r) { return reference::attention(r.row()); }

}  // namespace

TEST_CASE("definition: the softmax of two scores") {
  const auto r = exact(row_of_weights({1.0f, 0.0f}));
  CHECK(near(r.out[0], 0.7310585786300049));  // e / (1 + e)
  CHECK(near(r.out[1], 0.2689414213699951));
  CHECK(near(r.lse, 1.3132616875182228));  // ln (1 + e)
  CHECK_FALSE(r.undefined);
}

TEST_CASE("definition: a score is the scaled dot product") {
  row_inputs r = row_of_weights({0.0f, 0.0f});
  r.dim = 3;
  r.scale = 0.5f;
  r.q = {1.0f, 2.0f, -3.0f};
  r.k = {4.0f, 1.0f, 2.0f, -1.0f, 3.0f, 1.0f};  // dot products 0 and 2
  CHECK(near(exact(r).out[1], 0.7310585786300049));
  CHECK(near(exact(r).lse, 1.3132616875182228));
}

TEST_CASE("definition: only visible keys count") {
  row_inputs r = row_of_weights(std::vector<float>(8));
  r.visible = {{1, 3}, {5, 6}};
  for (std::int64_t j = 0; j < 8; ++j)
    CHECK(near(exact(r).out[static_cast<std::size_t>(j)], r.sees(j) ? 1.0 / 3 : 0.0));
  CHECK(near(exact(r).lse, std::log(3.0)));

  r.mask = {1, 1, 0, 1, 1, 1, 1, 1};  // of keys 1, 2 and 5 the second
  CHECK(near(exact(r).out[1], 0.5));
  CHECK(exact(r).out[2] == 0.0);

  r.bias = {0, 0, 0, 0, 0, -infinity, 0, 0};  // and the third
  CHECK(exact(r).out[1] == 1.0);
  CHECK(exact(r).out[5] == 0.0);
  CHECK(exact(r).lse == 0.0);
}

TEST_CASE("definition: true in a mask means may attend") {
  row_inputs r = row_with_scores(std::vector<float>(4));
  r.v = {1.0f, 2.0f, 3.0f, 4.0f};
  r.mask = {1, 0, 0, 0};
  CHECK(exact(r).out[0] == 1.0);  // inverted it would be 3
}

TEST_CASE("definition: a row that sees no key is zero") {
  row_inputs r = row_with_scores({1.0f, 2.0f});
  r.v = {3.0f, 4.0f};
  const auto hidden_by_all_means = [](row_inputs inputs) {
    std::vector<row_inputs> rows(3, inputs);
    rows[0].visible = {};
    rows[1].mask = {0, 0};
    rows[2].bias = {-infinity, -infinity};
    return rows;
  };
  for (const row_inputs& hidden : hidden_by_all_means(r)) {
    CHECK(exact(hidden).out[0] == 0.0);
    CHECK(exact(hidden).lse == -std::numeric_limits<double>::infinity());
  }
  r.sink = 0.7f;
  for (const row_inputs& hidden : hidden_by_all_means(r)) {
    CHECK(exact(hidden).out[0] == 0.0);
    CHECK(exact(hidden).lse == static_cast<double>(0.7f));
  }
}

TEST_CASE("definition: the cap multiplies the tanh of the quotient") {
  row_inputs r = row_of_weights({1.0f, 0.0f});
  r.soft_cap = 2.0f;
  CHECK(near(exact(r).out[0], 0.7159040902975481));  // logit 2 tanh(1/2) = 0.924234...
  CHECK(near(exact(r).lse, 1.258443387612291));
}

TEST_CASE("definition: a bias is added after the cap") {
  row_inputs r = row_of_weights({1.0f, 0.0f});
  r.soft_cap = 2.0f;
  r.bias = {0.0f, 10.0f};
  CHECK(near(exact(r).out[1], 1 / (1 + std::exp(2 * std::tanh(0.5) - 10))));
}

TEST_CASE("definition: a slope weighs distance, and the row's own key has none") {
  row_inputs r = row_of_weights(std::vector<float>(4));
  r.slope = static_cast<float>(std::log(2.0));
  const auto halved = exact(r);
  for (std::size_t j = 0; j < 4; ++j) CHECK(std::abs(halved.out[j] - std::exp2(j) / 15) < 1e-7);  // ln 2 is rounded
  CHECK(std::abs(halved.lse - 0.6286086594223741) < 1e-7);                                        // ln (15/8)
  r.position = 7;  // farther away: the same weights, another sum
  CHECK(std::abs(exact(r).out[3] - 8.0 / 15) < 1e-7);
  CHECK(std::abs(exact(r).lse - (0.6286086594223741 - 4 * std::log(2.0))) < 1e-6);
}

TEST_CASE("definition: a sink takes part in the denominator only") {
  row_inputs r = row_with_scores(std::vector<float>(4));
  r.v = {1.0f, 1.0f, 1.0f, 1.0f};
  r.sink = static_cast<float>(std::log(4.0));
  CHECK(std::abs(exact(r).out[0] - 0.5) < 1e-7);
  CHECK(std::abs(exact(r).lse - 2.0794415416798357) < 1e-6);  // ln 8
  r.sink = 1000.0f;
  CHECK(exact(r).out[0] == 0.0);
  CHECK(exact(r).lse == 1000.0);
  r.sink = -1000.0f;
  CHECK(exact(r).out[0] == 1.0);
  CHECK(near(exact(r).lse, std::log(4.0)));
}

TEST_CASE("definition: integers stand for scale times integer") {
  row_inputs r = row_with_scores({0.0f, 0.0f});
  r.k_integers = {2, -4};
  r.k_scales = {0.5f, 0.25f};  // scores 1 and -1
  r.v_integers = {100, -100};
  r.v_scales = {0.02f, 0.0f};  // values 2 and 0
  CHECK(std::abs(exact(r).out[0] - 2 / (1 + std::exp(-2.0))) < 1e-7);
  CHECK(near(exact(r).lse, std::log(std::exp(1.0) + std::exp(-1.0))));
}

TEST_CASE("definition: finite masks are ordinary numbers") {
  row_inputs r = row_of_weights({3.0f, 1.0f, -2.0f, 5.0f});
  r.bias = std::vector<float>(4, -largest);  // no score is left beside it
  for (const double weight : exact(r).out) CHECK(weight == 0.25);
  r.bias[2] = 0.0f;
  CHECK(exact(r).out[2] == 1.0);
  CHECK(exact(r).lse == -2.0);
}

TEST_CASE("definition: what is not a number") {
  row_inputs r = row_with_scores({1.0f, 2.0f, 3.0f}, 2);
  r.v = {1, 2, 3, 4, 5, 6};
  for (const float bad : {not_a_number, infinity}) {
    row_inputs score = r;
    score.k[1] = bad;
    CHECK(exact(score).undefined);
    CHECK(std::isnan(exact(score).out[0]));
    CHECK(std::isnan(exact(score).out[1]));
    CHECK(std::isnan(exact(score).lse));
    score.mask = {1, 0, 1};  // not seen, no harm
    CHECK_FALSE(exact(score).undefined);
    CHECK(std::isfinite(exact(score).out[0]));
  }
  row_inputs value = r;
  value.value(1)[0] = not_a_number;  // one column of it
  CHECK(std::isnan(exact(value).out[0]));
  CHECK(std::isfinite(exact(value).out[1]));
  CHECK(std::isfinite(exact(value).lse));

  row_inputs vanished = r;
  vanished.k[1] = -infinity;  // a score of -inf hides its key
  vanished.value(1)[0] = not_a_number;
  CHECK(std::isfinite(exact(vanished).out[0]));
}
