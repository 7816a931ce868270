#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "asked.hpp"
#include "command.hpp"
#include "dispatch/registry.hpp"
#include "machine.hpp"
#include "progress.hpp"
#include "support/limits.hpp"
#include "table.hpp"

namespace tril::tool {
namespace {

using json = nlohmann::ordered_json;

struct head_counts {
  std::int64_t q, kv;
};

struct options : visibility_flags {
  const preset* model = nullptr;
  std::optional<head_counts> heads;
  std::optional<std::int64_t> dim, value_dim;
  std::int64_t tokens = default_tokens, batch = 1;
  std::optional<std::int64_t> keys;
  std::optional<std::string> isa;
  std::optional<int> threads;
  bool json = false;
};

head_counts parse_heads(const char* flag, const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto q = parse_at_least<std::int64_t, 1>(flag, text.substr(0, slash));
  return {q, slash == std::string::npos ? q : parse_at_least<std::int64_t, 1>(flag, text.substr(slash + 1))};
}

preset shape_of(const options& o) {
  if (o.model && (o.heads || o.dim || o.value_dim))
    throw bad_input("--preset: not together with --heads, --dim and --value-dim");
  if (o.model) return *o.model;
  if (!o.heads) throw bad_input("--preset: missing; or give --heads and --dim");
  if (!o.dim) throw bad_input("--dim: missing; --heads and --dim belong together");
  return {.name = "your shape",
          .q_heads = o.heads->q,
          .kv_heads = o.heads->kv,
          .dim = *o.dim,
          .value_dim = o.value_dim.value_or(*o.dim)};
}

/// A problem of that shape, as an engine has it: tokens in rows, the cache head by head.
struct shaped {
  std::vector<std::int32_t> query_offset;
  problem p;
};

void shape(const preset& m, const options& o, std::int64_t rows, std::int64_t keys, shaped& s) {
  s.p.q = tril_bthd(TRIL_F32, o.batch, rows, m.q_heads, m.dim);
  s.p.kv = {.k = tril_bhtd(TRIL_F32, o.batch, m.kv_heads, keys, m.dim),
            .v = tril_bhtd(TRIL_F32, o.batch, m.kv_heads, keys, m.value_dim)};
  s.p.out = tril_bthd(TRIL_F32, o.batch, rows, m.q_heads, m.value_dim);
  apply(o, &m, s.query_offset, s.p);
}

struct machine_limits {
  double flops, bandwidth;  // per second
};

/// Medians, as limits drift with the clock and with the neighbours.
machine_limits measure(const context& ctx) {
  const progress measuring("measuring this machine");
  constexpr int samples = 15;
  constexpr std::size_t bytes = std::size_t{256} << 20;  // several times a last-level cache
  const bench::limits machine(*dispatch::find(ctx.isa())->kernels, ctx.threads());
  const std::vector<float> buffer(bytes / sizeof(float), 1.0f);
  const std::span<const float> buffers[] = {buffer};
  std::vector<double> flops, bandwidth;
  for (int i = 0; i < samples; ++i) {
    flops.push_back(machine.flops());
    bandwidth.push_back(machine.bandwidth(buffers));
  }
  return {bench::median(flops), bench::median(bandwidth)};
}

/// What a call takes, and the least time in which the machine can do that.
struct call {
  std::string name;
  std::int64_t rows, keys;
  cost takes;
  std::int64_t workspace;
  machine_limits limits;

  std::int64_t bytes() const { return takes.kv_bytes + takes.q_bytes + takes.out_bytes; }
  double arithmetic_seconds() const { return static_cast<double>(takes.flops) / limits.flops; }
  double memory_seconds() const { return static_cast<double>(bytes()) / limits.bandwidth; }
  double seconds() const { return std::max(arithmetic_seconds(), memory_seconds()); }
  bool bound_by_memory() const { return memory_seconds() > arithmetic_seconds(); }
};

call cost_of_call(const char* name, const context& ctx, const preset& m, const options& o, std::int64_t rows,
                  std::int64_t keys, machine_limits limits) {
  shaped s;
  shape(m, o, rows, keys, s);
  const cost takes = cost_of(s.p);
  if (!takes.status) throw bad_input("{}", takes.status.message());
  const plan prepared(ctx, s.p);
  if (!prepared.status()) throw bad_input("{}", prepared.status().message());
  return {name, rows, keys, takes, static_cast<std::int64_t>(prepared.workspace_bytes()), limits};
}

std::string with_prefix(double value, const char* unit, double step, const char* const (&prefixes)[5]) {
  int prefix = 0;
  for (; value >= 999.5 && prefix < 4; ++prefix) value /= step;
  if (prefix == 0) return fmt::format("{:.0f} {}", value, unit);
  return fmt::format("{:.3g} {}{}", value, prefixes[prefix], unit);
}
std::string si(double value, const char* unit) { return with_prefix(value, unit, 1000, {"", "k", "M", "G", "T"}); }
std::string binary(double bytes) { return with_prefix(bytes, "B", 1024, {"", "Ki", "Mi", "Gi", "Ti"}); }

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} us", 1e6 * seconds);
}

std::string report_text(const preset& m, const options& o, const context& ctx, const std::vector<call>& calls,
                        bool colours) {
  shaped s;
  shape(m, o, calls[0].rows, calls[0].keys, s);
  std::string text = fmt::format("{}: {}; float32, one layer\n", m.name, problem_text(s.p));
  text += fmt::format("{}, {}, threads: {}: {}, reads {}\n\n", cpu_model(), ctx.isa(), ctx.threads(),
                      si(calls[0].limits.flops, "FLOP/s"), si(calls[0].limits.bandwidth, "B/s"));
  std::vector<table::column> columns = {{"", table::align::left}};
  for (const call& c : calls) columns.push_back({c.name});
  table t(columns);
  const auto add = [&](const char* what, auto value_of) {
    std::vector<table::cell> row = {{what}};
    for (const call& c : calls) row.push_back({value_of(c)});
    t.add(row);
  };
  const auto of = [](std::int64_t count) { return static_cast<double>(count); };
  add("rows x keys", [](const call& c) { return fmt::format("{} x {}", c.rows, c.keys); });
  add("visible pairs, over all heads", [](const call& c) { return fmt::format("{}", c.takes.visible_pairs); });
  add("FLOPs", [&](const call& c) { return si(of(c.takes.flops), "FLOP"); });
  add("  of all pairs", [&](const call& c) {
    const double pairs = of(o.batch) * of(m.q_heads) * of(c.rows) * of(c.keys);
    return fmt::format("{:.1f} %", 100 * of(c.takes.visible_pairs) / pairs);
  });
  add("K and V read", [&](const call& c) { return binary(of(c.takes.kv_bytes)); });
  add("q read, out written", [&](const call& c) { return binary(of(c.takes.q_bytes + c.takes.out_bytes)); });
  add("workspace", [&](const call& c) { return binary(of(c.workspace)); });
  add("FLOPs per byte", [&](const call& c) { return fmt::format("{:.3g}", of(c.takes.flops) / of(c.bytes())); });
  add("arithmetic takes at least", [](const call& c) { return time_text(c.arithmetic_seconds()); });
  add("memory takes at least", [](const call& c) { return time_text(c.memory_seconds()); });
  add("bound by", [](const call& c) { return std::string(c.bound_by_memory() ? "memory" : "arithmetic"); });
  text += t.text(colours);
  text +=
      fmt::format("\nFLOPs = 2 (dim + value dim) x visible pairs = {} x visible pairs\n", 2 * (m.dim + m.value_dim));
  text += fmt::format("an unmasked prefill of T tokens: {} T^2; a decode step over T keys: {} T\n",
                      2 * (m.dim + m.value_dim) * m.q_heads * o.batch, 2 * (m.dim + m.value_dim) * m.q_heads * o.batch);
  return text;
}

json call_json(const call& c) {
  return {{"name", c.name},
          {"rows", c.rows},
          {"keys", c.keys},
          {"visible_pairs", c.takes.visible_pairs},
          {"flops", c.takes.flops},
          {"kv_bytes", c.takes.kv_bytes},
          {"q_bytes", c.takes.q_bytes},
          {"out_bytes", c.takes.out_bytes},
          {"workspace_bytes", c.workspace},
          {"arithmetic_milliseconds", 1e3 * c.arithmetic_seconds()},
          {"memory_milliseconds", 1e3 * c.memory_seconds()},
          {"bound_by", c.bound_by_memory() ? "memory" : "arithmetic"}};
}

std::string report_json(const preset& m, const context& ctx, const std::vector<call>& calls) {
  json all = json::array();
  for (const call& c : calls) all.push_back(call_json(c));
  const json report = {{"version", version()},
                       {"cpu", cpu_model()},
                       {"isa", ctx.isa()},
                       {"threads", ctx.threads()},
                       {"source", m.name},
                       {"peak_flops_per_second", calls[0].limits.flops},
                       {"read_bytes_per_second", calls[0].limits.bandwidth},
                       {"calls", all}};
  return report.dump(2) + "\n";
}

int run(const options& o) {
  check(o);
  const preset model = shape_of(o);
  const context ctx({.isa = o.isa ? o.isa->c_str() : nullptr, .threads = o.threads.value_or(0)});
  if (!ctx) throw bad_input("{}", ctx.status().message());
  const std::int64_t keys = o.keys.value_or(o.tokens);
  // The problem is refused before anything is measured.
  (void)cost_of_call("", ctx, model, o, o.tokens, keys, {1, 1});
  const machine_limits limits = measure(ctx);
  std::vector<call> calls = {cost_of_call("prefill", ctx, model, o, o.tokens, keys, limits)};
  if (model.causal && !o.full) calls.push_back(cost_of_call("decode step", ctx, model, o, 1, keys, limits));
  fmt::print("{}", o.json ? report_json(model, ctx, calls) : report_text(model, o, ctx, calls, colours_wanted()));
  return 0;
}

constexpr const char* footer =
    "\n"
    "The least time is the greater of FLOPs over the multiply-add peak and bytes over the read bandwidth, both\n"
    "measured now, on this machine, with the same instruction set and threads. K and V count once per KV head.\n"
    "\n"
    "Exit status: 0; 2 if the input cannot be used.";

}  // namespace

command add_cost(CLI::App& parser) {
  CLI::App* flags =
      parser.add_subcommand("cost", "Show what a shape takes: FLOPs, bytes, and the time this machine needs for them");
  const auto o = std::make_shared<options>();
  flag_group shapes(*flags, o, "Shape");
  shapes.add("--preset", "NAME", parse_preset, &options::model, "A model's attention");
  shapes.add("--heads", "Q/KV", parse_heads, &options::heads, "Query and KV heads; one number: as many of both");
  shapes.add("--dim", "N", parse_at_least<std::int64_t, 1>, &options::dim, "Of q and k");
  shapes.add("--value-dim", "N", parse_at_least<std::int64_t, 1>, &options::value_dim, "Of v; by default that of q");
  shapes.add("--batch", "N", parse_at_least<std::int64_t, 1>, &options::batch, "Sequences; by default 1");
  shapes.add("--tokens", "N", parse_at_least<std::int64_t, 1>, &options::tokens,
             fmt::format("Rows of the prefill; by default {}", default_tokens));
  shapes.add("--keys", "N", parse_at_least<std::int64_t, 1>, &options::keys,
             "Keys of each sequence; by default as many as tokens");
  add_visibility_flags(*flags, o);
  flag_group machine(*flags, o, "Machine");
  machine.add("--isa", "NAME", parse_text, &options::isa,
              "Instruction set; by default the best that this machine runs");
  machine.add("--threads", "N", parse_at_least<int, 1>, &options::threads, "By default one per usable core");
  machine.add_switch("--json", &options::json, "Print one JSON object");
  flags->footer(preset_table() + footer);
  return {flags, [o] { return run(*o); }};
}

}  // namespace tril::tool
