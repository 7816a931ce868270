#pragma once

#include <cstddef>
#include <cstdint>

#include "tril/tril.h"

namespace tril::run {

/// Bytes of an element.
constexpr std::int64_t element_bytes(std::int32_t dtype) { return dtype == TRIL_F32 ? 4 : 0; }

/// Address of element [batch][token][head][0] of a tensor. Strides of extents up to 1 are never looked at.
template <class Byte>
Byte* address(Byte* data, const tril_layout& l, std::int64_t batch, std::int64_t token, std::int64_t head) {
  const std::int64_t index[3] = {batch, token, head};
  std::int64_t offset = 0;
  for (int i = 0; i < 3; ++i)
    if (index[i] != 0) offset += index[i] * l.strides[i];
  return data + offset * element_bytes(l.dtype);
}

/// Where the keys, or values, of one head of one sequence lie: the place that knows every storage of K and V.
class kv_address {
 public:
  kv_address(const tril_layout& l, const std::byte* data, std::int64_t sequence, std::int64_t head)
      : first_(address(data, l, sequence, 0, head)),
        step_(l.extents[1] > 1 ? l.strides[1] * element_bytes(l.dtype) : 0) {}

  /// The rows of keys first ... first + count - 1.
  void rows(std::int64_t first, int count, const void** rows) const {
    for (int i = 0; i < count; ++i) rows[i] = first_ + (first + i) * step_;
  }

 private:
  const std::byte* first_;
  std::int64_t step_;
};

}  // namespace tril::run
