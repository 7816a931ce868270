#pragma once

#include <optional>
#include <string>

#include "array.hpp"

namespace tril::tool {

/// Reads one tensor of float16, bfloat16, float32 or float64 from a .safetensors file. Throws bad_input naming the file
/// and the reason; without a name, or one that is not there, with names that are. The file must be whole: its tensors
/// lie one behind another and fill it, as the format asks.
array read_safetensors(const std::string& file, const std::optional<std::string>& name);

}  // namespace tril::tool
