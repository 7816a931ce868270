#include "reference/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tril::reference {
namespace {

constexpr double u = 0x1p-24;  // unit roundoff of float32
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Higham's gamma: the relative error of n roundings.
double gamma(std::int64_t n) {
  const double nu = static_cast<double>(n) * u;
  return nu < 1 ? nu / (1 - nu) : infinity;
}

struct score {
  std::int64_t key;
  double value;
  double error;  // of the float32 score
};

/// The score of a key, and the sum of the roundings that its float32 form undergoes.
score score_of(const row& r, std::int64_t j) {
  double s = 0, magnitude = 0;
  for (std::int64_t c = 0; c < r.dim; ++c) {
    const double product = static_cast<double>(r.q[c]) * r.k.value(j, c);
    s += product;
    magnitude += std::abs(product);
  }
  s *= static_cast<double>(r.scale);
  double error = gamma(r.dim + 2) * std::abs(static_cast<double>(r.scale)) * magnitude;
  if (r.k.scales) error += u * std::abs(s);
  if (r.soft_cap != 0) {
    s = static_cast<double>(r.soft_cap) * std::tanh(s / static_cast<double>(r.soft_cap));
    error += 11 * u * std::abs(s);  // tanh32: 4 ulp; 1/cap, its product and the product with cap: one each
  }
  if (r.bias) {
    s += static_cast<double>(r.bias[j]);
    error += u * std::abs(s);
  }
  if (r.slope != 0) {
    const double distance = static_cast<double>(r.slope) * static_cast<double>(j - r.position);
    s += distance;
    error += u * (std::abs(distance) + std::abs(s));
  }
  return {j, s, error};
}

}  // namespace

exact_row attention(const row& r) {
  exact_row result;
  result.out.assign(static_cast<std::size_t>(r.value_dim), 0.0);
  result.out_bound.assign(static_cast<std::size_t>(r.value_dim), 0.0);
  result.lse = r.sink;
  result.lse_bound = 0;

  std::vector<score> scores;
  double m = static_cast<double>(r.sink);
  r.for_each_visible([&](std::int64_t j) {
    const score s = score_of(r, j);
    if (s.value == -infinity) return;  // hidden, wherever the -inf came from
    result.undefined |= std::isnan(s.value) || s.value == infinity;
    m = std::max(m, s.value);
    scores.push_back(s);
  });
  if (result.undefined) {
    result.lse = std::nan("");
    std::fill(result.out.begin(), result.out.end(), result.lse);
    return result;
  }
  if (scores.empty()) return result;

  std::int64_t splits = 0, last_split = -1;
  double l = std::exp(static_cast<double>(r.sink) - m);
  for (const score& s : scores) {
    l += std::exp(s.value - m);
    if (s.key / numeric::split_keys != last_split) ++splits;
    last_split = s.key / numeric::split_keys;
  }
  result.lse = m + std::log(l);

  // Relative error of weight j: expm1(Delta_j), with the error of the score, of the subtraction of the
  // maximum, of exp32 here and once more per merge of splits.
  const auto n = static_cast<double>(scores.size());
  const double merges = 4 * u * static_cast<double>(1 + splits);
  double deviation = 0;  // D, the mean of those errors under the weights themselves
  // Of a weight exp(gap), by how much an error of its exponent may move it. In one exponential where that is
  // large: a key far below the maximum has no weight to be moved, whatever the rounding of its score.
  const auto moved = [](double gap, double error) {
    return error < 1 ? std::exp(gap) * std::expm1(error) : std::exp(gap + error);
  };
  std::vector<double> largest(static_cast<std::size_t>(r.value_dim), 0.0);
  for (const score& s : scores) {
    const double gap = s.value - m, weight = std::exp(gap) / l;
    deviation += moved(gap, s.error + u * std::abs(gap) + merges) / l;
    for (std::int64_t c = 0; c < r.value_dim; ++c) {
      const double v = r.v.value(s.key, c);
      auto column = static_cast<std::size_t>(c);
      if (weight != 0 || !std::isfinite(v)) result.out[column] += weight * v;
      largest[column] = std::max(largest[column], std::abs(v));
    }
  }
  if (r.sink > numeric::negative_infinity) {
    const double gap = static_cast<double>(r.sink) - m;
    deviation += moved(gap, u * std::abs(gap) + merges) / l;
  }

  // The weighted mean moves by at most 2 D / (1 - D) of the largest value, and never by more than twice it;
  // then 16 lane sums of 16, a tree of 4, 256 products, the merges and the division. Weights below 2^-126
  // are flushed to 0; results may be subnormal.
  const double relative = deviation < 1 ? 2 * deviation / (1 - deviation) : infinity;
  const std::int64_t value_roundings = r.v.scales ? 1 : 0;
  for (std::size_t c = 0; c < result.out.size(); ++c)
    result.out_bound[c] = std::min(relative + gamma(280 + 4 * splits + value_roundings), 2.0) * largest[c] +
                          n * 0x1p-126 * largest[c] + (n + 4) * 0x1p-149 + u * std::abs(result.out[c]);
  result.lse_bound =
      (deviation < 1 ? deviation / (1 - deviation) : infinity) + gamma(20 + 2 * splits) + u * std::abs(result.lse);
  return result;
}

}  // namespace tril::reference
