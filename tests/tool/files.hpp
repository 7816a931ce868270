#pragma once

/// Files for the readers of the tool.

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "bad_input.hpp"

namespace tril::test {

/// A directory of its own, gone at the end.
class directory {
 public:
  directory() : path_(std::filesystem::temp_directory_path() / ("tril-tool-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~directory() { std::filesystem::remove_all(path_); }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;

  std::string file(const std::string& name) const { return path_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void put(const std::string& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

/// A .npy file with that literal as its header, and those values.
inline std::string npy(const std::string& literal, const std::string& values, int version = 1) {
  return "\x93NUMPY" + std::string{static_cast<char>(version), '\0'} +
         little_endian(literal.size(), version == 1 ? 2 : 4) + literal + values;
}

inline std::string npy_header(const std::string& shape, const std::string& dtype = "'<f4'",
                              const std::string& fortran_order = "False") {
  return "{'descr': " + dtype + ", 'fortran_order': " + fortran_order + ", 'shape': " + shape + ", }";
}

/// A .safetensors file with that header, and those values.
inline std::string safetensors(const std::string& header, const std::string& values) {
  return little_endian(header.size(), 8) + header + values;
}

/// What `read` refuses its input for; "" if it does not.
template <class Read>
std::string refusal(Read read) {
  try {
    read();
    return "";
  } catch (const tool::bad_input& e) {
    return e.what();
  }
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace tril::test
