#include "asked.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>
#include <vector>

namespace tril::tool {
namespace {

/// The flags that cannot go together, or without each other.
void check_flags(const tensor_flags& t, wanted what) {
  const bool from_files = t.q || t.k || t.v;
  const char* files = what == wanted::output ? "--q, --k and --v" : "--q and --k";
  if (!from_files && !t.model) throw bad_input("--preset: missing; or give {}", files);
  if (from_files && t.model) throw bad_input("--preset: not together with {}", files);
  for (const auto& [flag, file] : {std::pair("--q", &t.q), {"--k", &t.k}, {"--v", &t.v}}) {
    const bool needed = what == wanted::output || file != &t.v;
    if (from_files && needed && !*file) throw bad_input("{}: missing; {} belong together", flag, files);
  }
  if (from_files && t.tokens) throw bad_input("--tokens: not together with {}, which have their own", files);
  if (!from_files && t.head_major) throw bad_input("--layout: only together with {}", files);
}

}  // namespace

const preset* parse_preset(const char* flag, const std::string& name) {
  const preset* found = find_preset(name);
  if (found != nullptr) return found;
  std::vector<std::string_view> names;
  for (const preset& p : presets()) names.push_back(p.name);
  throw bad_input("{}: there is no '{}', but {}", flag, name, fmt::join(names, ", "));
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

std::string preset_table() {
  std::string text = "Presets:\n";
  for (const preset& p : presets()) {
    text += fmt::format("  {:<14}{:>4} query and {:>2} KV heads of {}", p.name, p.q_heads, p.kv_heads, p.dim);
    if (p.value_dim != p.dim) text += fmt::format(", values of {}", p.value_dim);
    if (p.window_left != -1) text += fmt::format(", window {},-1", p.window_left);
    text += p.causal ? "\n" : ", full\n";
  }
  return text;
}

const char* const file_help =
    "Axes: bthd is [batch][tokens][heads][dim], the default; bhtd is [batch][heads][tokens][dim]. One sequence may\n"
    "go without its batch axis, one head of it without its axis too. The heads of k and v divide those of q.\n"
    "\n"
    "Files: FILE.npy, or FILE.safetensors:NAME for one of its tensors; float16, bfloat16, float32 or float64, "
    "computed\n"
    "with as float32.\n";

void check(const visibility_flags& flags) {
  if (flags.full && flags.causal) throw bad_input("--full: not together with --causal");
}

void apply(const visibility_flags& flags, const preset* model, std::vector<std::int32_t>& query_offset, problem& p) {
  p.visibility.causal = flags.causal || (!flags.full && (!model || model->causal));
  if (model) p.visibility.window.left = model->window_left;
  if (model && model->scale != 0) p.scale = model->scale;
  if (flags.window) p.visibility.window = *flags.window;
  if (flags.scale) p.scale = flags.scale;
  if (flags.query_offset) {
    query_offset.assign(static_cast<std::size_t>(p.q.extents[0]), *flags.query_offset);
    p.visibility.query_offset = query_offset;
  }
}

void read_work(const tensor_flags& tensors, const visibility_flags& visibility, wanted what, work& w) {
  check_flags(tensors, what);
  check(visibility);
  if (tensors.model)
    w.in =
        make_inputs(*tensors.model, tensors.tokens.value_or(default_tokens), static_cast<std::uint64_t>(tensors.seed));
  else
    w.in = read_inputs(*tensors.q, *tensors.k, tensors.v, tensors.head_major.value_or(false));
  const auto &q = w.in.q_layout.extents, &v = w.in.v_layout.extents;
  if (q[0] == 0 || q[1] == 0) throw bad_input("q: has no rows");
  w.p.q = w.in.q_layout;
  w.p.kv = {.k = w.in.k_layout, .v = w.in.v_layout};
  w.p.out = layout_of(w.in.order, q[0], q[1], q[2], v[3]);
  apply(visibility, tensors.model, w.query_offset, w.p);
}

std::int64_t visible_pairs(const problem& p) {
  const cost c = cost_of(p);
  if (!c.status) throw bad_input("{}", c.status.message());
  return c.visible_pairs;
}

std::string problem_text(const problem& p) {
  const auto &q = p.q.extents, &k = p.kv.k.extents, &v = p.kv.v.extents;
  std::string text;
  if (q[0] != 1) text += fmt::format("{} sequences, ", q[0]);
  text += fmt::format("{} tokens, {} keys, {}/{} heads, dim {}", q[1], k[1], q[2], k[2], q[3]);
  if (v[3] != q[3]) text += fmt::format(", value dim {}", v[3]);
  text += p.visibility.causal ? ", causal" : ", full";
  if (const auto [left, right] = p.visibility.window; left != -1 || right != -1)
    text += fmt::format(", window {},{}", left, right);
  if (!p.visibility.query_offset.empty()) text += fmt::format(", query offset {}", p.visibility.query_offset.front());
  if (p.scale) text += fmt::format(", scale {}", *p.scale);
  return text;
}

}  // namespace tril::tool
