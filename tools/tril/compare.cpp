#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bad_input.hpp"
#include "command.hpp"
#include "inputs.hpp"
#include "isas.hpp"
#include "npy.hpp"
#include "presets.hpp"
#include "progress.hpp"
#include "reference/naive.hpp"
#include "report.hpp"
#include "table.hpp"

namespace tril::tool {
namespace {

constexpr std::int64_t default_tokens = 512;
constexpr std::int64_t default_seed = 1;
constexpr double slow_milliseconds = 10000;

struct options {
  const preset* model = nullptr;
  std::optional<std::int64_t> tokens;
  std::int64_t seed = default_seed;
  std::optional<std::string> q, k, v;
  std::optional<bool> head_major;
  std::optional<std::string> expect, out_npy;
  std::optional<float> scale;
  bool full = false, causal = false;
  std::optional<tril::window> window;
  std::optional<std::int32_t> query_offset;
  std::optional<std::string> isa;
  int threads = 1;
  std::optional<std::int64_t> rows;
  bool json = false;
};

std::string preset_names() {
  std::vector<std::string_view> names;
  for (const preset& p : presets()) names.push_back(p.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Flags are read here rather than by the parser, to which an empty text is a number that was not given.

template <class Number>
Number parse_number(const char* flag, const std::string& text) {
  Number value{};
  const char *begin = text.data(), *end = begin + text.size();
  const auto [behind, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range) throw bad_input("{}: {} is out of range", flag, text);
  if (error != std::errc() || behind != end) throw bad_input("{}: '{}' is not a number", flag, text);
  return value;
}

template <class Number, Number Least>
Number parse_at_least(const char* flag, const std::string& text) {
  const auto value = parse_number<Number>(flag, text);
  if (value < Least) throw bad_input("{}: {} is not at least {}", flag, value, Least);
  return value;
}

std::string parse_text(const char*, const std::string& text) { return text; }

const preset* parse_preset(const char* flag, const std::string& name) {
  const preset* found = find_preset(name);
  if (found == nullptr) throw bad_input("{}: there is no '{}', but {}", flag, name, preset_names());
  return found;
}

bool parse_layout(const char* flag, const std::string& name) {
  if (name != "bthd" && name != "bhtd") throw bad_input("{}: '{}' is neither bthd nor bhtd", flag, name);
  return name == "bhtd";
}

window parse_window(const char* flag, const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) throw bad_input("{}: '{}' is not LEFT,RIGHT", flag, text);
  return {.left = parse_number<std::int64_t>(flag, text.substr(0, comma)),
          .right = parse_number<std::int64_t>(flag, text.substr(comma + 1))};
}

/// The flags that cannot go together, or without each other.
void check_flags(const options& o) {
  const bool from_files = o.q || o.k || o.v;
  if (!from_files && !o.model) throw bad_input("--preset: missing; or give --q, --k and --v");
  if (from_files && o.model) throw bad_input("--preset: not together with --q, --k and --v");
  if (from_files)
    for (const auto& [flag, file] : {std::pair("--q", &o.q), {"--k", &o.k}, {"--v", &o.v}})
      if (!*file) throw bad_input("{}: missing; --q, --k and --v belong together", flag);
  if (from_files && o.tokens) throw bad_input("--tokens: not together with --q, --k and --v, which have their own");
  if (!from_files && o.head_major) throw bad_input("--layout: only together with --q, --k and --v");
  if (o.full && o.causal) throw bad_input("--full: not together with --causal");
}

/// The tensors, and the problem that they and the flags make up.
struct work {
  inputs in;
  std::vector<std::int32_t> query_offset;  // what p refers to
  problem p;

  run_data data() const { return {.q = in.q.data(), .kv = {in.k.data(), in.v.data()}}; }
};

void read_work(const options& o, work& w) {
  w.in = o.model ? make_inputs(*o.model, o.tokens.value_or(default_tokens), static_cast<std::uint64_t>(o.seed))
                 : read_inputs(*o.q, *o.k, *o.v, o.head_major.value_or(false));
  const auto &q = w.in.q_layout.extents, &v = w.in.v_layout.extents;
  if (q[0] == 0 || q[1] == 0) throw bad_input("q: has no rows");
  w.p.q = w.in.q_layout;
  w.p.kv = {.k = w.in.k_layout, .v = w.in.v_layout};
  w.p.out = layout_of(w.in.order, q[0], q[1], q[2], v[3]);
  w.p.visibility.causal = o.causal || (!o.full && (!o.model || o.model->causal));
  if (o.model) w.p.visibility.window.left = o.model->window_left;
  if (o.model && o.model->scale != 0) w.p.scale = o.model->scale;
  if (o.window) w.p.visibility.window = *o.window;
  if (o.scale) w.p.scale = o.scale;
  if (o.query_offset) {
    w.query_offset.assign(static_cast<std::size_t>(q[0]), *o.query_offset);
    w.p.visibility.query_offset = w.query_offset;
  }
}

/// The library's count of the pairs, and its opinion of the problem.
std::int64_t visible_pairs(const problem& p) {
  const cost c = cost_of(p);
  if (!c.status) throw bad_input("{}", c.status.message());
  return c.visible_pairs;
}

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

int run(const options& o) {
  check_flags(o);
  const auto isas = library_isas(o);
  if (o.out_npy) naming("--out-npy", [&] { check_writable(*o.out_npy); });

  work w;
  read_work(o, w);
  const problem& p = w.p;
  const std::int64_t pairs = visible_pairs(p);
  const double out_elements = static_cast<double>(p.q.extents[0] * p.q.extents[1] * p.q.extents[2] * p.out.extents[3]);
  check_memory("out", 2 * sizeof(float) * out_elements);
  std::vector<float> expected;
  if (o.expect) expected = read_array_like("--expect", *o.expect, w.in.order, p.out);

  const std::int64_t count = o.rows ? *o.rows : affordable_rows(p, pairs, seconds_per_pair(p, w.data()));
  const compared_rows compared = define_rows(p, w.data(), choose_rows(p, count, static_cast<std::uint64_t>(o.seed)));
  findings found;
  const std::vector<float> out = run_isas(w, pairs, compared, isas, o.isa.has_value(), found);
  if (o.expect)
    found.expected = assess_expected(*o.expect, part_compared(out, p.out, compared),
                                     part_compared(expected, p.out, compared), compared);
  if (o.out_npy) naming("--out-npy", [&] { write_npy(*o.out_npy, shape_of(w.in.order, p.out), out); });

  const question asked{w.in.source, o.seed, p, pairs, compared};
  fmt::print("{}", o.json ? report_json(asked, found) : report_text(asked, found, colours_wanted()));
  return found.passed() ? 0 : 1;
}

std::string preset_table() {
  std::string text;
  for (const preset& p : presets()) {
    text += fmt::format("  {:<14}{:>4} query and {:>2} KV heads of {}", p.name, p.q_heads, p.kv_heads, p.dim);
    if (p.value_dim != p.dim) text += fmt::format(", values of {}", p.value_dim);
    if (p.window_left != -1) text += fmt::format(", window {},-1", p.window_left);
    text += p.causal ? "\n" : ", full\n";
  }
  return text;
}

constexpr const char* footer =
    "Axes: bthd is [batch][tokens][heads][dim], the default; bhtd is [batch][heads][tokens][dim]. One sequence may\n"
    "go without its batch axis. Files are float32, little-endian, in C order. The heads of k and v divide those of q.\n"
    "\n"
    "Exit status: 0; 1 if an error is beyond its bound, or bits differ; 2 if the input cannot be used.";

}  // namespace

command add_compare(CLI::App& parser) {
  CLI::App* flags = parser.add_subcommand("compare", "Compare scalar and SIMD results with the mathematics, and times");
  const auto o = std::make_shared<options>();
  const auto add = [&](const char* group, const char* flag, const char* type, auto parse, auto member,
                       const std::string& what) {
    const auto read = [o, flag, parse, member](const std::string& text) { (*o).*member = parse(flag, text); };
    flags->add_option_function<std::string>(flag, read, what)->type_name(type)->group(group);
  };
  const auto add_switch = [&](const char* group, const char* flag, bool options::*member, const std::string& what) {
    flags->add_flag(flag, (*o).*member, what)->group(group);
  };

  const char* group = "Random inputs";
  add(group, "--preset", "NAME", parse_preset, &options::model, "A model's attention");
  add(group, "--tokens", "N", parse_at_least<std::int64_t, 1>, &options::tokens,
      fmt::format("Rows and keys; by default {}", default_tokens));
  add(group, "--seed", "N", parse_at_least<std::int64_t, 0>, &options::seed,
      fmt::format("Of the numbers, and of the rows compared; by default {}", default_seed));
  group = "Your inputs";
  add(group, "--q", "FILE.npy", parse_text, &options::q, "Queries");
  add(group, "--k", "FILE.npy", parse_text, &options::k, "Keys");
  add(group, "--v", "FILE.npy", parse_text, &options::v, "Values");
  add(group, "--layout", "AXES", parse_layout, &options::head_major, "Of all files, bthd or bhtd");
  add(group, "--expect", "FILE.npy", parse_text, &options::expect,
      "Another program's output, to be compared with the library's");
  group = "Attention";
  add_switch(group, "--causal", &options::causal,
             "No row sees keys behind its position; the default of files and of most presets");
  add_switch(group, "--full", &options::full, "Every row sees every key");
  add(group, "--window", "LEFT,RIGHT", parse_window, &options::window,
      "Keys that a row sees before and after its position; -1: all");
  add(group, "--query-offset", "N", parse_number<std::int32_t>, &options::query_offset,
      "Position of the first row; by default keys - rows");
  add(group, "--scale", "S", parse_number<float>, &options::scale, "Of the scores; by default 1/sqrt(dim)");
  group = "Runs";
  add(group, "--isa", "LIST", parse_text, &options::isa,
      "Instruction sets, comma-separated; by default all that this machine runs");
  add(group, "--threads", "N", parse_at_least<int, 1>, &options::threads, "Run with so many threads, too");
  add(group, "--rows", "N", parse_at_least<std::int64_t, 1>, &options::rows,
      "Rows to compare, over all heads; by default 10 seconds of them");
  add(group, "--out-npy", "FILE.npy", parse_text, &options::out_npy, "Write the library's output");
  add_switch(group, "--json", &options::json, "Print one JSON object");
  flags->footer("Presets:\n" + preset_table() + "\n" + footer);
  return {flags, [o] { return run(*o); }};
}

}  // namespace tril::tool
