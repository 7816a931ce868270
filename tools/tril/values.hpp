#pragma once

#include <cstdint>
#include <span>

#include "array.hpp"
#include "file_reader.hpp"

namespace tril::tool {

/// How a number lies in a file.
struct element {
  enum { f16, bf16, f32, f64 } type;
  bool big_endian = false;
};

/// What values of that shape take in a file. Throws bad_input if that is no number of 64 bits.
std::uint64_t bytes_of(element stored, std::span<const std::int64_t> shape);

/// The values of that shape, which are next in the file, as float32 in the order they lie there: 16 bits are widened
/// exactly, 64 rounded to nearest even. Throws bad_input, before it allocates, unless the file holds them all.
array read_values(file_reader& in, element stored, std::vector<std::int64_t> shape);

/// Reorders values that lie with the first axis varying fastest.
void from_fortran_order(array& read);

}  // namespace tril::tool
