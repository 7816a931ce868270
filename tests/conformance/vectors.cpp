#include "conformance/vectors.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "numeric/canon.hpp"

namespace tril::test {
namespace {

using nlohmann::json;

constexpr int skipped = 77;  // Meson's exit code; Catch2 2 has none

std::vector<float> floats(const json& bits) {
  std::vector<float> values;
  for (const json& b : bits) values.push_back(numeric::bits_as<float>(b.get<std::uint32_t>()));
  return values;
}

std::vector<std::int32_t> numbers_if_any(const json& numbers) {
  return numbers.is_null() ? std::vector<std::int32_t>() : numbers.get<std::vector<std::int32_t>>();
}

test_vector vector_of(const json& j) {
  recipe r = {.batch = j.at("batch"),
              .rows = j.at("rows"),
              .keys = j.at("keys"),
              .q_heads = j.at("q_heads"),
              .kv_heads = j.at("kv_heads"),
              .dim = j.at("dim"),
              .value_dim = j.at("value_dim"),
              .causal = j.at("causal"),
              .window = {.left = j.at("window").at(0), .right = j.at("window").at(1)},
              .kv_lengths = numbers_if_any(j.at("kv_lengths")),
              .query_offset = numbers_if_any(j.at("query_offset"))};
  if (const json& scale = j.at("scale"); !scale.is_null()) r.scale = scale.get<float>();
  return {j.at("name"), r, floats(j.at("q")), floats(j.at("k")), floats(j.at("v")), floats(j.at("out"))};
}

}  // namespace

std::vector<test_vector> read_vectors() {
  const char* named = std::getenv("TRIL_ONNX_VECTORS");
  const std::filesystem::path directory = named != nullptr ? named : "build/onnx-vectors";
  std::ifstream file(directory / "attention.json");
  if (!file) {
    std::printf("no attention.json in %s; tools/onnx-vectors makes it\n", directory.c_str());
    std::fflush(stdout);
    std::_Exit(skipped);
  }
  std::vector<test_vector> vectors;
  for (const json& j : json::parse(file)) vectors.push_back(vector_of(j));
  return vectors;
}

}  // namespace tril::test
