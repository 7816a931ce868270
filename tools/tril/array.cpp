#include "array.hpp"

#include <fmt/ranges.h>

#include <filesystem>
#include <string_view>

#include "npy.hpp"
#include "safetensors.hpp"

namespace tril::tool {

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

array read_array(const std::string& source) {
  constexpr std::string_view suffix = ".safetensors";
  std::error_code error;
  // Names of files may hold colons too: what exists is taken as it is, and a tensor is looked for in a file only.
  if (!std::filesystem::exists(source, error))
    for (std::size_t end = 0; (end = source.find(suffix, end)) != source.npos;) {
      end += suffix.size();
      const std::string file = source.substr(0, end);
      if (source[end] == ':' && std::filesystem::is_regular_file(file, error))
        return read_safetensors(file, source.substr(end + 1));
    }
  return source.ends_with(suffix) ? read_safetensors(source, std::nullopt) : read_npy(source);
}

}  // namespace tril::tool
