#pragma once

#include <span>

#include "tril/tensor.hpp"

namespace tril {

/// The geometry of keys [batch][keys][kv heads][dim] and values [batch][keys][kv heads][value_dim].
struct kv_layout {
  layout k = {};
  layout v = {};
  std::span<const int32_t> lengths = {};  ///< Keys of each sequence; empty: all of them.
};

/// The memory that a kv_layout describes; changes from layer to layer while the layout stays.
struct kv_data {
  const void* k = nullptr;
  const void* v = nullptr;
};

}  // namespace tril
