#include "values.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "bad_input.hpp"
#include "machine.hpp"
#include "numeric/bf16.hpp"
#include "numeric/f16.hpp"

namespace tril::tool {
namespace {

/// Reads values in pieces, so that beside them there need not be room for the file.
template <class Bits, class Convert>
void read_converted(file_reader& in, bool big_endian, std::vector<float>& values, Convert convert) {
  std::array<Bits, 8192> piece;
  for (std::size_t at = 0; at < values.size();) {
    const std::span<Bits> next(piece.data(), std::min(piece.size(), values.size() - at));
    in.read(next.data(), next.size_bytes());
    for (Bits& bits : next) {
      if (big_endian) std::ranges::reverse(std::as_writable_bytes(std::span(&bits, 1)));
      values[at++] = convert(bits);
    }
  }
}

}  // namespace

std::uint64_t bytes_of(element stored, std::span<const std::int64_t> shape) {
  std::uint64_t bytes = stored.type == element::f64 ? 8 : stored.type == element::f32 ? 4 : 2;
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
      throw bad_input("its shape {} is too large", shape_text(shape));
  return bytes;
}

array read_values(file_reader& in, element stored, std::vector<std::int64_t> shape) {
  const std::uint64_t bytes = bytes_of(stored, shape), count = bytes / bytes_of(stored, {});
  if (bytes > in.left())
    throw bad_input("truncated: {} bytes of values, its shape {} has {}", in.left(), shape_text(shape), bytes);
  if (count > physical_memory() / sizeof(float)) throw bad_input("its values do not fit into this machine's memory");
  array read{std::move(shape), std::vector<float>(static_cast<std::size_t>(count)), ""};
  switch (stored.type) {
    case element::f16:
      read_converted<std::uint16_t>(in, stored.big_endian, read.values, numeric::f16_to_f32);
      read.conversion = "float16, widened to float32";
      break;
    case element::bf16:
      read_converted<std::uint16_t>(in, stored.big_endian, read.values, numeric::bf16_to_f32);
      read.conversion = "bfloat16, widened to float32";
      break;
    case element::f32:
      read_converted<std::uint32_t>(in, stored.big_endian, read.values,
                                    [](std::uint32_t bits) { return std::bit_cast<float>(bits); });
      break;
    case element::f64:
      std::uint64_t overflows = 0;
      read_converted<std::uint64_t>(in, stored.big_endian, read.values, [&](std::uint64_t bits) {
        const auto value = std::bit_cast<double>(bits);
        const auto rounded = static_cast<float>(value);
        overflows += std::isinf(rounded) && std::isfinite(value);
        return rounded;
      });
      read.conversion = "float64, rounded to float32";
      if (overflows > 0) read.conversion += fmt::format("; {} of its finite values became infinite", overflows);
      break;
  }
  return read;
}

void from_fortran_order(array& read) {
  const auto& shape = read.shape;
  std::vector<std::size_t> strides;
  std::size_t stride = 1;
  for (const std::int64_t extent : shape) {
    strides.push_back(stride);
    stride *= static_cast<std::size_t>(extent);
  }
  std::vector<float> in_order(read.values.size());
  std::vector<std::int64_t> index(shape.size());
  std::size_t from = 0;
  for (float& value : in_order) {
    value = read.values[from];
    // To the next place in C order, where the last axis varies fastest.
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * static_cast<std::size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
  read.values = std::move(in_order);
}

}  // namespace tril::tool
