#include "report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "asked.hpp"
#include "machine.hpp"
#include "numeric/canon.hpp"
#include "table.hpp"

namespace tril::tool {
namespace {

using json = nlohmann::ordered_json;

std::string share_text(double share) { return share < 10 ? fmt::format("{:.2g} %", 100 * share) : "> 1000 %"; }

/// Three significant digits, or all those before the point.
std::string figure(double value) { return value < 100 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value); }

std::string results_text(const std::vector<result>& results, bool colours) {
  using enum table::align;
  table t({{"implementation", left},
           {"isa", left},
           {"threads"},
           {"max error"},
           {"rms error"},
           {"of bound"},
           {"near 0"},
           {"ulp"},
           {"bits", left},
           {"ms"},
           {"ns/pair"},
           {"speed-up"}});
  for (const result& r : results) {
    const tone bound = r.errors.within_bound() ? tone::plain : tone::bad;
    table::cell bits{"-", tone::faint};
    if (r.bit_identical) bits = *r.bit_identical ? table::cell{"same", tone::good} : table::cell{"DIFFER", tone::bad};
    const double per_pair = r.pairs > 0 ? 1e6 * r.milliseconds / static_cast<double>(r.pairs) : 0;
    t.add({{r.name},
           {r.isa.empty() ? "-" : r.isa},
           {fmt::format("{}", r.threads)},
           {fmt::format("{:.1e}", r.errors.max_abs())},
           {fmt::format("{:.1e}", r.errors.rms())},
           {share_text(r.errors.bound_used()), bound},
           {share_text(r.errors.bound_used_near_zero()), bound},
           {r.max_ulp_vs_naive == nan_ulp_distance ? "NaN" : fmt::format("{}", r.max_ulp_vs_naive)},
           bits,
           {figure(r.milliseconds)},
           {figure(per_pair)},
           {fmt::format("{:.2f}x", r.speedup_vs_naive)}});
  }
  return t.text(colours);
}

json problem_json(const problem& p) {
  const auto &q = p.q.extents, &k = p.kv.k.extents, &v = p.kv.v.extents;
  const auto& offset = p.visibility.query_offset;
  return {{"batch", q[0]},
          {"tokens", q[1]},
          {"keys", k[1]},
          {"q_heads", q[2]},
          {"kv_heads", k[2]},
          {"dim", q[3]},
          {"value_dim", v[3]},
          {"causal", p.visibility.causal},
          {"window", {p.visibility.window.left, p.visibility.window.right}},
          {"query_offset", offset.empty() ? json() : json(offset.front())},
          {"scale", p.scale ? json(*p.scale) : json()}};
}

json result_json(const result& r) {
  return {{"name", r.name},
          {"isa", r.isa.empty() ? json() : json(r.isa)},
          {"threads", r.threads},
          {"within_bound", r.within_bound()},
          {"bit_identical", r.bit_identical ? json(*r.bit_identical) : json()},
          {"max_abs", r.errors.max_abs()},
          {"rms", r.errors.rms()},
          {"max_ulp_vs_naive", r.max_ulp_vs_naive},
          {"bound_used", r.errors.bound_used()},
          {"bound_used_near_zero", r.errors.bound_used_near_zero()},
          {"lse_bound_used", r.lse_errors.bound_used()},
          {"milliseconds", r.milliseconds},
          {"pairs", r.pairs},
          {"speedup_vs_naive", r.speedup_vs_naive}};
}

json results_json(const std::vector<result>& results) {
  json all = json::array();
  for (const result& r : results) all.push_back(result_json(r));
  return all;
}

json projection_json(const projection_findings& f) {
  return {{"file", f.file},
          {"in", f.in},
          {"out", f.out},
          {"rows", f.rows},
          {"rows_compared", f.rows_compared},
          {"results", results_json(f.results)}};
}

json expectation_json(const expectation& e) {
  return {{"file", e.file},
          {"within_bound", e.errors.within_bound()},
          {"max_abs", e.errors.max_abs()},
          {"rms", e.errors.rms()},
          {"bound_used", e.errors.bound_used()}};
}

}  // namespace

std::string report_text(const question& asked, const findings& found, bool colours) {
  const compared_rows& compared = asked.compared;
  const std::size_t rows = compared.rows.size();
  std::string text = fmt::format("{}: {}, seed {}\n", asked.source, problem_text(asked.p), asked.seed);
  text += fmt::format("tril {} on {}\n", version(), cpu_model());
  text += fmt::format("compared with the definition in double: {} of {} rows\n\n", rows, compared.total);
  text += results_text(found.results, colours);
  text +=
      "\nof bound  largest error, as a share of what float32 allows"
      "\nnear 0    the same over values that are smaller than their bound"
      "\nulp       from naive_truncated, over all other values"
      "\nbits      beside the canonical order of the same arithmetic"
      "\nspeed-up  over naive_truncated, per visible (row, key) pair";
  if (static_cast<std::int64_t>(rows) < compared.total)
    text += fmt::format("; naive and canonical took their ms for the {} rows,\n          {} of {} pairs, tril for all",
                        rows, compared.pairs, asked.pairs);
  text += "\n";
  if (!found.left_out.empty())
    text += fmt::format("left out, as slower than what took long already; --isa runs them: {}\n",
                        fmt::join(found.left_out, ", "));
  if (found.expected) {
    const accuracy& e = found.expected->errors;
    text += fmt::format("\n{}: max difference {:.1e}, rms {:.1e}, {} of what two float32 results may differ by\n",
                        found.expected->file, e.max_abs(), e.rms(), share_text(e.bound_used()));
  }
  if (found.projected) {
    const projection_findings& f = *found.projected;
    text +=
        fmt::format("\nprojection of that output by {}, {} to {}: {} of {} rows, a pair being a row and an output\n\n",
                    f.file, f.in, f.out, f.rows_compared, f.rows);
    text += results_text(f.results, colours);
  }
  const auto fail = [&](const std::string& what, const char* why) {
    text += toned(fmt::format("FAILED: {}: {}", what, why), tone::bad, colours) + "\n";
  };
  const auto fail_each = [&](const std::vector<result>& results, const char* of) {
    for (const result& r : results) {
      if (r.kept()) continue;
      const std::string what =
          of + (r.isa.empty() ? r.name : fmt::format("{}, {}, threads: {}", r.name, r.isa, r.threads));
      if (!r.errors.within_bound()) fail(what, "an error is beyond its bound");
      if (!r.lse_errors.within_bound()) fail(what, "an error of lse is beyond its bound");
      if (!*r.bit_identical) fail(what, "bits differ from the canonical order");
    }
  };
  fail_each(found.results, "");
  if (found.projected) fail_each(found.projected->results, "projection by ");
  if (found.expected && !found.expected->errors.within_bound())
    fail(found.expected->file, "a difference is beyond the bound");
  return text;
}

std::string report_json(const question& asked, const findings& found) {
  const json report = {
      {"version", version()},
      {"arithmetic_version", numeric::arithmetic_version},
      {"cpu", cpu_model()},
      {"source", asked.source},
      {"seed", asked.seed},
      {"problem", problem_json(asked.p)},
      {"rows", asked.compared.total},
      {"rows_compared", asked.compared.rows.size()},
      {"pairs", asked.pairs},
      {"pairs_compared", asked.compared.pairs},
      {"results", results_json(found.results)},
      {"left_out", found.left_out},
      {"expect", found.expected ? expectation_json(*found.expected) : json()},
      {"projection", found.projected ? projection_json(*found.projected) : json()},
      {"passed", found.passed()},
  };
  // Names of files need not be UTF-8. Infinities and NaN become null.
  return report.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace tril::tool
