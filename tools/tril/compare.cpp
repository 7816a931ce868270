#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "asked.hpp"
#include "bad_input.hpp"
#include "command.hpp"
#include "flags.hpp"
#include "inputs.hpp"
#include "isas.hpp"
#include "npy.hpp"
#include "progress.hpp"
#include "projected.hpp"
#include "reference/naive.hpp"
#include "report.hpp"
#include "table.hpp"

namespace tril::tool {
namespace {

constexpr double slow_milliseconds = 10000;

struct options : tensor_flags, visibility_flags {
  std::optional<std::string> expect, out_npy;
  std::optional<std::string> wo, wo_bias;
  std::optional<std::string> isa;
  int threads = 1;
  std::optional<std::int64_t> rows;
  bool json = false;
};

/// An instruction set, and contexts of one thread and of as many as were asked for.
struct library_isa {
  std::string name;
  bool fused;
  std::vector<context> contexts;
};

/// Best first.
std::vector<library_isa> library_isas(const options& o) {
  std::vector<library_isa> isas;
  for (const dispatch::isa* chosen : choose_isas(o.isa, dispatch::built_isas())) {
    library_isa isa{chosen->kernels->name, chosen->kernels->fused, {}};
    for (const int threads : std::set{1, o.threads}) {
      isa.contexts.emplace_back(context_options{.isa = chosen->kernels->name, .threads = threads});
      if (const context& ctx = isa.contexts.back(); !ctx) throw bad_input("{}", ctx.status().message());
    }
    isas.insert(isas.begin(), std::move(isa));
  }
  return isas;
}

template <class Run>
auto with_progress(const std::string& what, Run run) {
  const progress running(what);
  return run();
}

/// What the library is compared with, beside the definition.
struct references {
  outcome naive;         // truncated
  outcome canonical[2];  // unfused, fused; empty if no instruction set is of that family
};

references run_references(const compared_rows& compared, const std::vector<library_isa>& isas, findings& found) {
  using namespace reference;
  references all;
  const auto naive = [&](const char* name, naive_function f) {
    return with_progress(name, [&] { return run_naive(f, compared); });
  };
  all.naive = naive("naive_truncated", plain::naive_truncated);
  const auto add = [&](const char* name, const outcome& seen, const outcome* canonical) {
    found.results.push_back(assess(name, seen, compared, canonical, all.naive));
  };
  add("naive_masked", naive("naive_masked", plain::naive_masked), nullptr);
  add("naive_truncated", all.naive, nullptr);
  add("naive_vectorised", naive("naive_vectorised", vectorised::naive_truncated), nullptr);
  for (const bool fused : {false, true}) {
    if (std::none_of(isas.begin(), isas.end(), [&](const library_isa& i) { return i.fused == fused; })) continue;
    const char* name = fused ? "canonical_fused" : "canonical_unfused";
    outcome& canonical = all.canonical[fused];
    canonical = with_progress(name, [&] { return run_canonical(fused, compared); });
    add(name, canonical, &canonical);
  }
  return all;
}

/// Runs the instruction sets and returns the whole output of the best one. If they were not asked for by name,
/// those below one that takes long are left out: they would take longer.
std::vector<float> run_isas(const work& w, std::int64_t pairs, const compared_rows& compared,
                            const std::vector<library_isa>& isas, bool by_name, findings& found) {
  const references all = run_references(compared, isas, found);
  const auto ahead_of_others = std::ssize(found.results);  // the best one runs first and is listed last
  std::vector<float> best, other;
  bool slow = false;
  for (const library_isa& isa : isas) {
    if (slow) {
      found.left_out.push_back(isa.name);
      continue;
    }
    std::vector<result> results;
    for (const context& ctx : isa.contexts) {
      const outcome seen = with_progress(fmt::format("tril, {}, threads: {}", isa.name, ctx.threads()), [&] {
        return run_library(ctx, w.p, w.data(), pairs, compared, best.empty() ? best : other);
      });
      result& r = results.emplace_back(assess("tril", seen, compared, &all.canonical[isa.fused], all.naive));
      r.isa = isa.name;
      r.threads = ctx.threads();
    }
    found.results.insert(found.results.begin() + ahead_of_others, results.begin(), results.end());
    slow = !by_name && results.front().milliseconds > slow_milliseconds;
  }
  return best;
}

/// The projection of an output, by the instruction sets that made one.
projection_findings project(const projection_weight& by, const std::vector<float>& out, const layout& out_layout,
                            const std::vector<library_isa>& isas, const findings& found, std::int64_t seed) {
  const projected_rows rows(by, out, out_layout, static_cast<std::uint64_t>(seed));
  projection_findings all{by.source, by.in, by.out, rows.total(), rows.compared(), {rows.assess_naive()}};
  for (auto isa = isas.rbegin(); isa != isas.rend(); ++isa) {
    if (std::ranges::count(found.left_out, isa->name) > 0) continue;
    for (const context& ctx : isa->contexts)
      all.results.push_back(with_progress(fmt::format("projection, {}, threads: {}", isa->name, ctx.threads()),
                                          [&] { return rows.assess_library(ctx, isa->fused); }));
  }
  return all;
}

int run(const options& o) {
  if (o.wo_bias && !o.wo) throw bad_input("--wo-bias: needs --wo");
  const auto isas = library_isas(o);
  if (o.out_npy) naming("--out-npy", [&] { check_writable(*o.out_npy); });

  work w;
  read_work(o, o, wanted::output, w);
  const problem& p = w.p;
  const std::int64_t pairs = visible_pairs(p);
  const double out_elements = static_cast<double>(p.q.extents[0] * p.q.extents[1] * p.q.extents[2] * p.out.extents[3]);
  check_memory("out", 2 * sizeof(float) * out_elements);
  std::vector<float> expected;
  if (o.expect) expected = read_array_like("--expect", *o.expect, w.in.order, p.out);
  std::optional<projection_weight> by;
  if (o.wo) by = read_projection(*o.wo, o.wo_bias, p.out);

  const std::int64_t count = o.rows ? *o.rows : affordable_rows(p, pairs, seconds_per_pair(p, w.data()));
  const compared_rows compared = define_rows(p, w.data(), choose_rows(p, count, static_cast<std::uint64_t>(o.seed)));
  findings found;
  const std::vector<float> out = run_isas(w, pairs, compared, isas, o.isa.has_value(), found);
  if (o.expect)
    found.expected = assess_expected(*o.expect, part_compared(out, p.out, compared),
                                     part_compared(expected, p.out, compared), compared);
  if (by) found.projected = project(*by, out, p.out, isas, found, o.seed);
  if (o.out_npy) naming("--out-npy", [&] { write_npy(*o.out_npy, shape_of(w.in.order, p.out), out); });

  const question asked{w.in.source, o.seed, p, pairs, compared};
  fmt::print("{}", o.json ? report_json(asked, found) : report_text(asked, found, colours_wanted()));
  return found.passed() ? 0 : 1;
}

constexpr const char* footer =
    "\nExit status: 0; 1 if an error is beyond its bound, or bits differ; 2 if the input cannot be used.";

}  // namespace

command add_compare(CLI::App& parser) {
  CLI::App* flags = parser.add_subcommand("compare", "Compare scalar and SIMD results with the mathematics, and times");
  const auto o = std::make_shared<options>();
  add_tensor_flags(*flags, o, wanted::output);
  flag_group yours(*flags, o, "Your inputs");
  yours.add("--expect", "FILE", parse_text, &options::expect,
            "Another program's output, to be compared with the library's");
  yours.add("--wo", "FILE", parse_text, &options::wo,
            "A weight, (out, in): compare its projection of the library's output, too");
  yours.add("--wo-bias", "FILE", parse_text, &options::wo_bias, "A bias for --wo, (out,)");
  add_visibility_flags(*flags, o);
  flag_group runs(*flags, o, "Runs");
  runs.add("--isa", "LIST", parse_text, &options::isa,
           "Instruction sets, comma-separated; by default all that this machine runs");
  runs.add("--threads", "N", parse_at_least<int, 1>, &options::threads, "Run with so many threads, too");
  runs.add("--rows", "N", parse_at_least<std::int64_t, 1>, &options::rows,
           "Rows to compare, over all heads; by default 10 seconds of them");
  runs.add("--out-npy", "FILE.npy", parse_text, &options::out_npy, "Write the library's output");
  runs.add_switch("--json", &options::json, "Print one JSON object");
  flags->footer(preset_table() + "\n" + file_help + footer);
  return {flags, [o] { return run(*o); }};
}

}  // namespace tril::tool
