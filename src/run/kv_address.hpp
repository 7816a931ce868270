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

/// Where keys and values lie, for every storage that a plan knows: (sequence, key, head) to pointer.
struct kv_address {
  const tril_layout& layout;
  const std::byte* data;

  const void* operator()(std::int64_t sequence, std::int64_t key, std::int64_t head) const {
    return address(data, layout, sequence, key, head);
  }
};

}  // namespace tril::run
