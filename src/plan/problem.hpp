#pragma once

#include <cstdint>
#include <vector>

#include "tril/tril.h"

namespace tril::planning {

/// One sequence of the batch, with its own lengths.
struct sequence {
  std::int64_t rows;
  std::int64_t keys;
  std::int64_t first_position;  // of row 0, among the keys
};

/// Which keys a row at position p sees: p - left ... p + right; causal attention has right = 0. Bounds are
/// below 2^61, so that a position plus a bound is a number.
struct window {
  static constexpr std::int64_t unbounded = -1;
  std::int64_t left = unbounded;
  std::int64_t right = unbounded;
};

/// An attention problem that has been checked: every size is in range, every product fits 64 bits.
struct problem {
  tril_layout q, k, v, out, lse;
  bool with_lse;
  std::int64_t q_heads, kv_heads, dim, value_dim;
  float scale;
  planning::window window;
  std::vector<sequence> sequences;

  std::int64_t group() const { return q_heads / kv_heads; }  // query heads per KV head
};

}  // namespace tril::planning
