#include "safetensors.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "bad_input.hpp"
#include "file_reader.hpp"
#include "values.hpp"

namespace tril::tool {
namespace {

using nlohmann::json;

constexpr std::uint64_t longest_header = 100'000'000;  // bytes; the format allows no longer one
constexpr std::size_t most_axes = 64;
constexpr int deepest = 3;  // the extents of a tensor in the header

struct tensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin, end;  // of its values, counted from the end of the header
};
using tensors = std::map<std::string, tensor>;

[[noreturn]] void fail() { throw bad_input("its header is not that of a .safetensors file"); }

/// Parses JSON that is no deeper than a header, and names no member of an object twice.
json parse_header(const std::string& text) {
  // The parser takes a zero for the end.
  if (!text.starts_with('{') || text.find('\0') != text.npos) fail();
  std::vector<std::set<std::string>> members;  // of each open object
  json header = json::parse(
      text,
      [&](int depth, json::parse_event_t event, json& parsed) {
        if (depth > deepest) fail();
        if (event == json::parse_event_t::object_start) members.emplace_back();
        if (event == json::parse_event_t::object_end) members.pop_back();
        if (event == json::parse_event_t::key && !members.back().insert(parsed.get<std::string>()).second)
          throw bad_input("its header names {:.100} twice", parsed.get<std::string>());
        return true;
      },
      false);
  if (!header.is_object()) fail();
  return header;
}

std::vector<std::uint64_t> numbers_of(const json& list, std::size_t most) {
  if (!list.is_array() || list.size() > most) fail();
  std::vector<std::uint64_t> numbers;
  for (const json& number : list) {
    if (!number.is_number_unsigned()) fail();
    numbers.push_back(number.get<std::uint64_t>());
  }
  return numbers;
}

tensor tensor_of(const json& description) {
  if (!description.is_object() || description.size() != 3) fail();
  const auto member = [&](const char* name) -> const json& {
    const auto found = description.find(name);
    if (found == description.end()) fail();
    return *found;
  };
  tensor t;
  if (!member("dtype").is_string()) fail();
  t.dtype = member("dtype").get<std::string>();
  for (const std::uint64_t extent : numbers_of(member("shape"), most_axes)) {
    if (extent > std::numeric_limits<std::int64_t>::max()) throw bad_input("a shape in its header is too large");
    t.shape.push_back(static_cast<std::int64_t>(extent));
  }
  const auto offsets = numbers_of(member("data_offsets"), 2);
  if (offsets.size() != 2) fail();
  t.begin = offsets[0], t.end = offsets[1];
  return t;
}

/// Checks that the values lie one behind another and fill the rest of the file.
void check_offsets(const tensors& all, std::uint64_t bytes) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [name, t] : all) ranges.emplace_back(t.begin, t.end);
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t end = 0;
  for (const auto& range : ranges) {
    if (range.first != end || range.second < end)
      throw bad_input("offsets [{}, {}] in its header, where {} must begin", range.first, range.second, end);
    end = range.second;
  }
  if (end > bytes) throw bad_input("truncated: {} bytes of values, its header tells of {}", bytes, end);
  if (end < bytes) throw bad_input("{} bytes follow after its values", bytes - end);
}

tensors read_header(file_reader& in) {
  const auto length = in.number(8);
  if (length > longest_header) throw bad_input("not a .safetensors file: a header of {} bytes", length);
  tensors all;
  const json header = parse_header(in.text(length));
  for (const auto& [name, description] : header.items())
    if (name != "__metadata__") all.emplace(name, tensor_of(description));
  check_offsets(all, in.left());
  return all;
}

/// The first few.
std::string names_of(const tensors& all) {
  constexpr std::size_t most = 8;
  std::vector<std::string> names;
  for (const auto& [name, t] : all)
    if (names.size() < most) names.push_back(fmt::format("{:.100}", name));
  if (names.empty()) return "none";
  const std::string more = all.size() > most ? fmt::format(" and {} more", all.size() - most) : "";
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

/// A tensor, and its file, read to the end of the header.
struct located {
  tensor t;
  file_reader in;
};

located locate(const std::string& file, const std::optional<std::string>& name) {
  file_reader in(file);
  tensors all = read_header(in);
  if (!name) throw bad_input("name one of its tensors behind a colon: {}", names_of(all));
  const auto found = all.find(*name);
  if (found == all.end()) throw bad_input("it has no tensor '{}', but {}", *name, names_of(all));
  return {std::move(found->second), std::move(in)};
}

array read_tensor(located& place) {
  auto& [t, in] = place;
  static const std::map<std::string, element> elements = {
      {"F16", {element::f16}}, {"BF16", {element::bf16}}, {"F32", {element::f32}}, {"F64", {element::f64}}};
  const auto stored = elements.find(t.dtype);
  if (stored == elements.end()) throw bad_input("its dtype is {:.100}, not F16, BF16, F32 or F64", t.dtype);
  if (const auto bytes = bytes_of(stored->second, t.shape); bytes != t.end - t.begin)
    throw bad_input("{} bytes of values, its shape {} has {}", t.end - t.begin, shape_text(t.shape), bytes);
  in.skip(t.begin);
  return read_values(in, stored->second, std::move(t.shape));
}

}  // namespace

array read_safetensors(const std::string& file, const std::optional<std::string>& name) {
  located place = naming(file, [&] { return locate(file, name); });
  return naming(fmt::format("{}:{}", file, *name), [&] { return read_tensor(place); });
}

}  // namespace tril::tool
