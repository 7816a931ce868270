#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "asked.hpp"
#include "command.hpp"
#include "progress.hpp"
#include "rows.hpp"
#include "scores.hpp"
#include "table.hpp"

namespace tril::tool {
namespace {

using json = nlohmann::ordered_json;

struct options : tensor_flags, visibility_flags {
  std::optional<std::int64_t> rows;
  bool per_head = false;
  bool json = false;
};

/// What was looked at, and what was seen.
struct inspection {
  const work& w;
  std::string source;
  std::int64_t seed;
  double scale;
  double q_rms, k_rms;
  std::int64_t rows, rows_in_all;
  std::vector<score_sums> heads;
  score_sums all;

  /// What the spread of <q, k> would be, were the components independent and around 0: the variances of d products
  /// add up (Vaswani et al. 2017, section 3.2.1, footnote 4).
  double expected_spread() const { return std::sqrt(static_cast<double>(w.p.q.extents[3])) * q_rms * k_rms; }
  double per_row(double sum) const { return all.rows ? sum / static_cast<double>(all.rows) : 0; }
};

std::vector<score_sums> look_at(const work& w, const std::vector<row_index>& rows) {
  progress looking("scores in double");
  std::vector<score_sums> heads(static_cast<std::size_t>(w.p.q.extents[2]));
  double done = 0;
  for (const row_index& i : rows) {
    heads[static_cast<std::size_t>(i.head)].add(reference::row_of(w.p, w.data(), i.sequence, i.token, i.head));
    looking.at(++done / static_cast<double>(rows.size()));
  }
  return heads;
}

/// How many rows 10 seconds are enough for, tried on some.
std::int64_t affordable(const work& w) {
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  score_sums tried;
  for (const row_index& i : choose_rows(w.p, 4, 0))
    tried.add(reference::row_of(w.p, w.data(), i.sequence, i.token, i.head));
  const double seconds = std::chrono::duration<double>(clock::now() - start).count();
  return affordable_rows(w.p, visible_pairs(w.p), tried.pairs ? seconds / static_cast<double>(tried.pairs) : 0);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string softmax_text(const inspection& seen, bool colours) {
  const score_sums& s = seen.all;
  const double scale = seen.scale;
  table t({{"", table::align::left}, {"<q, k>"}, {fmt::format("x {:.4g}", scale)}});
  const auto add = [&](const char* what, const std::string& raw, const std::string& scaled) {
    t.add({{what}, {raw}, {scaled}});
  };
  const auto figures = [&](const char* what, double value) {
    add(what, fmt::format("{:.4g}", value), fmt::format("{:.4g}", std::abs(scale) * value));
  };
  figures("spread of the scores (standard deviation)", s.spread());
  figures("  if all components were independent", seen.expected_spread());
  figures("largest score, either sign", s.largest);
  add("saturated rows (a weight above 0.99)", percent(seen.per_row(static_cast<double>(s.raw.saturated))),
      percent(seen.per_row(static_cast<double>(s.scaled.saturated))));
  add("largest weight of a row, mean", fmt::format("{:.3f}", seen.per_row(s.raw.largest)),
      fmt::format("{:.3f}", seen.per_row(s.scaled.largest)));
  add("entropy of a row, mean (nats)", fmt::format("{:.3f}", seen.per_row(s.raw.entropy)),
      fmt::format("{:.3f}", seen.per_row(s.scaled.entropy)));
  add("  as many equal keys, exp(entropy)", fmt::format("{:.1f}", std::exp(seen.per_row(s.raw.entropy))),
      fmt::format("{:.1f}", std::exp(seen.per_row(s.scaled.entropy))));
  add("  of at most, ln(visible keys)", "", fmt::format("{:.3f}", seen.per_row(s.log_keys)));
  return t.text(colours);
}

std::string distance_table(const inspection& seen, bool colours) {
  constexpr double widest = 40;
  table t({{"keys between row and key", table::align::left}, {"mass"}, {"if even"}, {"", table::align::left}});
  const auto add = [&](const std::string& where, double mass, double even) {
    const double share = seen.per_row(mass);
    const auto bar = static_cast<std::size_t>(share >= 0 ? std::lround(widest * share) : 0);  // none for NaN
    t.add(
        {{where}, {percent(seen.per_row(mass))}, {percent(seen.per_row(even)), tone::faint}, {std::string(bar, '#')}});
  };
  for (std::size_t bin = 0; bin < distance_bins; ++bin)
    if (seen.all.even_mass[bin] > 0)
      add(distance_text(static_cast<int>(bin)), seen.all.mass[bin], seen.all.even_mass[bin]);
  add("on the sequence's first key", seen.all.first_key, seen.all.even_first_key);
  return t.text(colours);
}

std::string heads_text(const inspection& seen, bool colours) {
  table t(
      {{"head"}, {"spread"}, {"scaled"}, {"saturated"}, {"scaled"}, {"entropy, scaled"}, {"own key"}, {"first key"}});
  for (std::size_t h = 0; h < seen.heads.size(); ++h) {
    const score_sums& s = seen.heads[h];
    const double rows = std::max(static_cast<double>(s.rows), 1.0);
    t.add({{fmt::format("{}", h)},
           {fmt::format("{:.4g}", s.spread())},
           {fmt::format("{:.4g}", std::abs(seen.scale) * s.spread())},
           {percent(static_cast<double>(s.raw.saturated) / rows)},
           {percent(static_cast<double>(s.scaled.saturated) / rows)},
           {fmt::format("{:.3f}", s.scaled.entropy / rows)},
           {percent(s.mass[0] / rows)},
           {percent(s.first_key / rows)}});
  }
  return t.text(colours);
}

std::string report_text(const inspection& seen, bool per_head, bool colours) {
  std::string text = fmt::format("{}: {}, seed {}\n", seen.source, problem_text(seen.w.p), seen.seed);
  text += fmt::format("looked at {} of {} rows, {} (row, key) pairs\n\n", seen.rows, seen.rows_in_all, seen.all.pairs);
  text += softmax_text(seen, colours) + "\n" + distance_table(seen, colours);
  if (per_head) text += "\n" + heads_text(seen, colours);
  if (seen.all.rows < seen.rows)
    text +=
        fmt::format("\n{} rows that see fewer than two keys count for the scores alone\n", seen.rows - seen.all.rows);
  return text;
}

json sums_json(const score_sums& s, double scale) {
  const double rows = std::max(static_cast<double>(s.rows), 1.0);
  const auto softmax = [&](const softmax_sums& sums) {
    return json{{"saturated", static_cast<double>(sums.saturated) / rows},
                {"largest_weight", sums.largest / rows},
                {"entropy", sums.entropy / rows}};
  };
  json distances = json::array();
  for (std::size_t bin = 0; bin < distance_bins; ++bin)
    distances.push_back({{"distance", distance_text(static_cast<int>(bin))},
                         {"mass", s.mass[bin] / rows},
                         {"even", s.even_mass[bin] / rows}});
  return {{"rows", s.rows},
          {"pairs", s.pairs},
          {"spread", s.spread()},
          {"scaled_spread", std::abs(scale) * s.spread()},
          {"largest_score", s.largest},
          {"unscaled", softmax(s.raw)},
          {"scaled", softmax(s.scaled)},
          {"log_keys", s.log_keys / rows},
          {"distances", distances},
          {"first_key", s.first_key / rows}};
}

std::string report_json(const inspection& seen) {
  json heads = json::array();
  for (const score_sums& head : seen.heads) heads.push_back(sums_json(head, seen.scale));
  const json report = {{"version", version()},
                       {"source", seen.source},
                       {"seed", seen.seed},
                       {"scale", seen.scale},
                       {"rows", seen.rows_in_all},
                       {"rows_inspected", seen.rows},
                       {"q_rms", seen.q_rms},
                       {"k_rms", seen.k_rms},
                       {"expected_spread", seen.expected_spread()},
                       {"all", sums_json(seen.all, seen.scale)},
                       {"heads", heads}};
  return report.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

int run(const options& o) {
  work w;
  read_work(o, o, wanted::scores, w);
  visible_pairs(w.p);
  const auto rows = choose_rows(w.p, o.rows ? *o.rows : affordable(w), static_cast<std::uint64_t>(o.seed));
  const double scale = reference::row_of(w.p, w.data(), 0, 0, 0).scale;
  inspection seen = {.w = w,
                     .source = w.in.source,
                     .seed = o.seed,
                     .scale = scale,
                     .q_rms = root_mean_square(w.in.q),
                     .k_rms = root_mean_square(w.in.k),
                     .rows = std::ssize(rows),
                     .rows_in_all = w.p.q.extents[0] * w.p.q.extents[1] * w.p.q.extents[2],
                     .heads = look_at(w, rows),
                     .all = {}};
  for (const score_sums& head : seen.heads) seen.all.add(head);
  fmt::print("{}", o.json ? report_json(seen) : report_text(seen, o.per_head, colours_wanted()));
  return 0;
}

constexpr const char* footer =
    "\n"
    "Scores of d independent components of variance v spread by sqrt(d) v; 1/sqrt(d) brings that back to v. Without\n"
    "it a softmax saturates: one key takes all the weight, and learning stops there.\n"
    "\n"
    "Exit status: 0; 2 if the input cannot be used.";

}  // namespace

command add_inspect(CLI::App& parser) {
  CLI::App* flags = parser.add_subcommand(
      "inspect", "Show what scores look like: their spread, how saturated the softmax is, where its mass lies");
  const auto o = std::make_shared<options>();
  add_tensor_flags(*flags, o, wanted::scores);
  add_visibility_flags(*flags, o);
  flag_group looks(*flags, o, "Looks");
  looks.add("--rows", "N", parse_at_least<std::int64_t, 1>, &options::rows,
            "Rows to look at, over all heads; by default 10 seconds of them");
  looks.add_switch("--per-head", &options::per_head, "Show the heads one by one");
  looks.add_switch("--json", &options::json, "Print one JSON object");
  flags->footer(preset_table() + "\n" + file_help + footer);
  return {flags, [o] { return run(*o); }};
}

}  // namespace tril::tool
