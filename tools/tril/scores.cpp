#include "scores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace tril::tool {
namespace {

constexpr double saturated_weight = 0.99;

int bin_of(std::int64_t distance) {
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::abs(distance))));
  return std::min((bits + 1) / 2, distance_bins - 1);
}

/// The weights that a softmax gives, in place of its scores.
void softmax(std::vector<double>& scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& s : scores) sum += s = std::exp(s - largest);
  for (double& s : scores) s /= sum;
}

void add_softmax(softmax_sums& sums, std::span<const double> weights) {
  for (const double w : weights)
    if (w > 0) sums.entropy -= w * std::log(w);
  const double largest = *std::max_element(weights.begin(), weights.end());
  sums.largest += largest;
  sums.saturated += largest > saturated_weight;
}

}  // namespace

std::string distance_text(int bin) {
  if (bin == 0) return "0";
  const std::int64_t first = std::int64_t{1} << 2 * (bin - 1);
  return bin == distance_bins - 1 ? fmt::format("{} and more", first) : fmt::format("{} ... {}", first, 4 * first - 1);
}

void score_sums::add(const reference::row& r) {
  std::vector<std::int64_t> keys;
  std::vector<double> dots;
  r.for_each_visible([&](std::int64_t j) {
    double dot = 0;
    for (std::int64_t c = 0; c < r.dim; ++c) dot += static_cast<double>(r.q[c]) * r.k.value(j, c);
    keys.push_back(j);
    dots.push_back(dot);
    scores += dot;
    squares += dot * dot;
    largest = std::max(largest, std::abs(dot));
  });
  pairs += std::ssize(keys);
  if (keys.size() < 2) return;
  ++rows;
  log_keys += std::log(static_cast<double>(keys.size()));
  std::vector<double> weights = dots;
  softmax(weights);
  add_softmax(raw, weights);
  std::transform(dots.begin(), dots.end(), weights.begin(), [&](double dot) { return r.scale * dot; });
  softmax(weights);
  add_softmax(scaled, weights);
  const double even = 1 / static_cast<double>(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto bin = static_cast<std::size_t>(bin_of(r.position - keys[i]));
    mass[bin] += weights[i];
    even_mass[bin] += even;
  }
  if (keys.front() == 0) {
    first_key += weights.front();
    even_first_key += even;
  }
}

void score_sums::add(const score_sums& other) {
  rows += other.rows;
  pairs += other.pairs;
  scores += other.scores;
  squares += other.squares;
  largest = std::max(largest, other.largest);
  for (const auto& [to, from] : {std::pair(&raw, &other.raw), {&scaled, &other.scaled}}) {
    to->entropy += from->entropy;
    to->largest += from->largest;
    to->saturated += from->saturated;
  }
  log_keys += other.log_keys;
  for (std::size_t bin = 0; bin < mass.size(); ++bin) {
    mass[bin] += other.mass[bin];
    even_mass[bin] += other.even_mass[bin];
  }
  first_key += other.first_key;
  even_first_key += other.even_first_key;
}

double score_sums::spread() const {
  if (pairs == 0) return 0;
  const double mean = scores / static_cast<double>(pairs);
  return std::sqrt(std::max(squares / static_cast<double>(pairs) - mean * mean, 0.0));
}

double root_mean_square(std::span<const float> values) {
  double squares = 0;
  for (const float x : values) squares += static_cast<double>(x) * x;
  return values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace tril::tool
