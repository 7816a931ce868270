#include "projected.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bad_input.hpp"
#include "progress.hpp"
#include "reference/naive.hpp"
#include "reference/projection.hpp"

namespace tril::tool {
namespace {

/// Products that the definition and the canonical order take a second for.
constexpr std::int64_t most_products = std::int64_t{1} << 28;

}  // namespace

projection_weight read_projection(const std::string& wo, const std::optional<std::string>& bias, const layout& output) {
  array weight = read_for("--wo", wo);
  if (weight.shape.size() != 2)
    throw bad_input("--wo: {}: its shape is {}, not of 2 axes, out and in", wo, shape_text(weight.shape));
  projection_weight by{fmt::format("{}{}{}", wo, bias ? " " : "", bias.value_or("")),
                       weight.shape[1],
                       weight.shape[0],
                       std::move(weight.values),
                       {}};
  const std::int64_t heads = output.extents[2], dim = output.extents[3];
  if (by.in != heads * dim)
    throw bad_input("--wo: {}: takes {} elements, but an output has {} heads of {}", wo, by.in, heads, dim);
  check_memory("--wo", static_cast<double>(output.extents[0] * output.extents[1] * by.out) * sizeof(float));
  if (!bias) return by;
  array read = read_for("--wo-bias", *bias);
  if (read.shape != std::vector{by.out})
    throw bad_input("--wo-bias: {}: its shape is {}, not ({},)", *bias, shape_text(read.shape), by.out);
  by.bias = std::move(read.values);
  return by;
}

projected_rows::projected_rows(const projection_weight& by, const std::vector<float>& x, const layout& x_layout,
                               std::uint64_t seed)
    : by_(by), x_{x.data(), x_layout} {
  problem tokens;
  tokens.q = tril_bthd(TRIL_F32, x_layout.extents[0], x_layout.extents[1], 1, by.in);
  compared_.total = x_layout.extents[0] * x_layout.extents[1];
  compared_.index = choose_rows(tokens, std::max<std::int64_t>(1, most_products / (by.in * by.out)), seed);
  compared_.pairs = std::ssize(compared_.index) * by.out;
  for (const row_index& i : compared_.index)
    for (std::int64_t head = 0; head < x_layout.extents[2]; ++head) {
      const float* from = x.data() + reference::offset_of(x_layout, i.sequence, i.token, head);
      rows_.insert(rows_.end(), from, from + x_layout.extents[3]);
    }

  const progress defining("the projection in double");
  run_rows([&](const reference::projected_row& r, float*) {
    auto [y, bound] = reference::projection(r);
    compared_.exact.push_back({.out = std::move(y), .lse = 0, .out_bound = std::move(bound), .lse_bound = 0});
  });
  naive_ = run_rows(reference::plain::naive_projection);
  for (const bool fused : {false, true})
    canonical_[fused] = run_rows([&](const reference::projected_row& r, float* y) {
      std::ranges::copy(reference::canonical_projection(fused, r), y);
    });
}

/// Each row once: what takes part of a second needs no repetition.
template <class Project>
outcome projected_rows::run_rows(Project project) const {
  outcome result;
  result.out.resize(static_cast<std::size_t>(compared_.pairs));
  result.pairs = compared_.pairs;
  result.milliseconds = milliseconds_of([&] {
    for (std::int64_t i = 0; i < compared(); ++i)
      project(reference::projected_row{rows_.data() + i * by_.in, by_.weight.data(), by_.layer().bias, by_.in, by_.out},
              result.out.data() + i * by_.out);
  });
  return result;
}

result projected_rows::assess_naive() const { return assess("naive", naive_, compared_, nullptr, naive_); }

result projected_rows::assess_library(const context& ctx, bool fused) const {
  const projection made(ctx, by_.layer());
  if (!made) throw bad_input("--wo: {}", made.status().message());
  const std::int64_t batch = x_.layout.extents[0], tokens = x_.layout.extents[1];
  std::vector<float> y(static_cast<std::size_t>(compared_.total * by_.out), std::numeric_limits<float>::quiet_NaN());
  const mutable_tensor to = bthd(y.data(), batch, tokens, 1, by_.out);
  outcome seen;
  seen.pairs = compared_.total * by_.out;
  seen.milliseconds = median_milliseconds([&] {
    if (const status s = made.run(x_, to); !s) throw bad_input("--wo: {}", s.message());
  });
  seen.out = part_compared(y, to.layout, compared_);
  result r = assess("tril", seen, compared_, &canonical_[fused], naive_);
  r.isa = ctx.isa();
  r.threads = ctx.threads();
  return r;
}

}  // namespace tril::tool
