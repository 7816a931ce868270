#pragma once

#include <type_traits>

#include "tril/tril.h"

namespace tril {

/// Maps an element type to its tril_dtype.
template <class T>
struct dtype_of;
/// float is TRIL_F32.
template <>
struct dtype_of<float> {
  static constexpr tril_dtype value = TRIL_F32;  ///< The type's name in a layout.
};

/// The geometry of a tensor: extents and strides in elements.
using layout = tril_layout;

/// A tensor that tril reads.
struct tensor {
  const void* data = nullptr;  ///< Element `[0][0][0][0]`, aligned to its type.
  tril::layout layout = {};    ///< `[batch][token][head][dim]`
};

/// A tensor that tril writes.
struct mutable_tensor {
  void* data = nullptr;      ///< Element `[0][0][0][0]`, aligned to its type.
  tril::layout layout = {};  ///< `[batch][token][head][dim]`

  /// What can be written can be read.
  operator tensor() const noexcept { return {data, layout}; }
};

/// tensor for const elements, else mutable_tensor.
template <class T>
using tensor_of = std::conditional_t<std::is_const_v<T>, tensor, mutable_tensor>;

/// Contiguous `[batch][tokens][heads][dim]`. An output of this layout is the concatenation of the heads.
template <class T>
tensor_of<T> bthd(T* data, int64_t batch, int64_t tokens, int64_t heads, int64_t dim) noexcept {
  return {data, tril_bthd(dtype_of<std::remove_const_t<T>>::value, batch, tokens, heads, dim)};
}

/// Contiguous `[batch][heads][tokens][dim]`, "head-major".
template <class T>
tensor_of<T> bhtd(T* data, int64_t batch, int64_t heads, int64_t tokens, int64_t dim) noexcept {
  return {data, tril_bhtd(dtype_of<std::remove_const_t<T>>::value, batch, heads, tokens, dim)};
}

}  // namespace tril
