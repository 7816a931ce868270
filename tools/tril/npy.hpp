#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "array.hpp"

namespace tril::tool {

/// Reads a .npy file (format versions 1 to 3) of float16, float32 or float64, in either byte order and in C or Fortran
/// order. Throws bad_input naming the file and the reason. Our own reader, because those at hand believe the header:
/// they load truncated files without a word and compute the size of a huge shape with overflow. This one allocates
/// nothing before the size of the file has confirmed the shape.
array read_npy(const std::string& file);

/// Throws bad_input if write_npy could not write that file.
void check_writable(const std::string& file);

/// Writes little-endian float32 in C order, format version 1: under a temporary name beside it, then renamed, so that
/// an error leaves what was there.
void write_npy(const std::string& file, std::span<const std::int64_t> shape, std::span<const float> values);

}  // namespace tril::tool
