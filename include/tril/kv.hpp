#pragma once

#include <span>

#include "tril/tensor.hpp"

namespace tril {

/// The geometry of keys and values.
struct kv_layout {
  layout k = {};                          ///< `[batch][keys][kv heads][dim]`
  layout v = {};                          ///< `[batch][keys][kv heads][value_dim]`
  std::span<const int32_t> lengths = {};  ///< `[batch]` keys of each sequence; empty: all of them.
};

/// The memory that a kv_layout describes; changes from layer to layer while the layout stays.
struct kv_data {
  const void* k = nullptr;  ///< Element `[0][0][0][0]` of the keys.
  const void* v = nullptr;  ///< Element `[0][0][0][0]` of the values.
};

}  // namespace tril
