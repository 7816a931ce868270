#pragma once

/// The attention that a user asks about: the flags that describe it, and the problem they make up.

#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "flags.hpp"
#include "inputs.hpp"
#include "presets.hpp"
#include "tril/tril.hpp"

namespace tril::tool {

constexpr std::int64_t default_tokens = 512;

/// Who sees what, and how scores are scaled.
struct visibility_flags {
  bool full = false, causal = false;
  std::optional<tril::window> window;
  std::optional<std::int32_t> query_offset;
  std::optional<float> scale;
};

/// Tensors to be made up, or read.
struct tensor_flags {
  const preset* model = nullptr;
  std::optional<std::int64_t> tokens;
  std::int64_t seed = 1;
  std::optional<std::string> q, k, v;
  std::optional<bool> head_major;
};

const preset* parse_preset(const char* flag, const std::string& name);
bool parse_layout(const char* flag, const std::string& name);
tril::window parse_window(const char* flag, const std::string& text);

/// What the help says of the presets, and of files.
std::string preset_table();
extern const char* const file_help;

/// Throws bad_input for flags that cannot go together.
void check(const visibility_flags& flags);

/// Sets what the flags say, or else the model, or else the defaults. `query_offset` becomes what p refers to.
void apply(const visibility_flags& flags, const preset* model, std::vector<std::int32_t>& query_offset, problem& p);

/// The tensors, and the problem that they and the flags make up. `out` has the axes of q.
struct work {
  inputs in;
  std::vector<std::int32_t> query_offset;  // what p refers to
  problem p;

  run_data data() const { return {.q = in.q.data(), .kv = {in.k.data(), in.v.empty() ? nullptr : in.v.data()}}; }
};

/// Throws bad_input for flags that cannot go together or without each other, for files, and for a problem that the
/// library refuses. If only the scores are asked for there is no v, and in its place the problem has the shape of k.
enum class wanted { scores, output };
void read_work(const tensor_flags& tensors, const visibility_flags& visibility, wanted what, work& w);

/// The library's count of the visible pairs, and its opinion of the problem.
std::int64_t visible_pairs(const problem& p);

/// One line on a problem: shape and visibility.
std::string problem_text(const problem& p);

template <class Options>
void add_tensor_flags(CLI::App& command, const std::shared_ptr<Options>& o, wanted what) {
  flag_group random(command, o, "Random inputs");
  random.add("--preset", "NAME", parse_preset, &Options::model, "A model's attention");
  random.add("--tokens", "N", parse_at_least<std::int64_t, 1>, &Options::tokens,
             fmt::format("Rows and keys; by default {}", default_tokens));
  random.add("--seed", "N", parse_at_least<std::int64_t, 0>, &Options::seed,
             "Of the numbers, and of the rows looked at; by default 1");
  flag_group yours(command, o, "Your inputs");
  yours.add("--q", "FILE", parse_text, &Options::q, "Queries");
  yours.add("--k", "FILE", parse_text, &Options::k, "Keys");
  if (what == wanted::output) yours.add("--v", "FILE", parse_text, &Options::v, "Values");
  yours.add("--layout", "AXES", parse_layout, &Options::head_major, "Of all files, bthd or bhtd");
}

template <class Options>
void add_visibility_flags(CLI::App& command, const std::shared_ptr<Options>& o) {
  flag_group attention(command, o, "Attention");
  attention.add_switch("--causal", &Options::causal,
                       "No row sees keys behind its position; the default of files and of most presets");
  attention.add_switch("--full", &Options::full, "Every row sees every key");
  attention.add("--window", "LEFT,RIGHT", parse_window, &Options::window,
                "Keys that a row sees before and after its position; -1: all");
  attention.add("--query-offset", "N", parse_number<std::int32_t>, &Options::query_offset,
                "Position of the first row; by default keys - rows");
  attention.add("--scale", "S", parse_number<float>, &Options::scale, "Of the scores; by default 1/sqrt(dim)");
}

}  // namespace tril::tool
