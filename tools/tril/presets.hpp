#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tril::tool {

/// The attention of one layer of a model.
struct preset {
  std::string_view name;
  std::int64_t q_heads, kv_heads, dim, value_dim;
  bool causal = true;
  std::int64_t window_left = -1;  // as tril::window::left
  float scale = 0.0f;             // 0: 1 / sqrt(dim)
};

std::span<const preset> presets();

/// The one of that name; null if there is none.
const preset* find_preset(std::string_view name);

}  // namespace tril::tool
