#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tril::tool {

/// What a file holds, whatever its format.
struct array {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // in C order
  std::string conversion;     // how they became float32: "float64, rounded to float32"; "" if they were
};

/// As Python writes it: "(2, 3)", "(2,)".
std::string shape_text(std::span<const std::int64_t> shape);

/// Reads FILE.npy or FILE.safetensors:NAME. Throws bad_input naming the file and the reason.
array read_array(const std::string& source);

}  // namespace tril::tool
