#pragma once

#include <span>

#include "tril/tril.h"

namespace tril {

/// Which keys a row sees, relative to its position; -1 is no bound. {.left = 1023} under causal attention
/// leaves each row 1024 keys, its own among them.
struct window {
  int64_t left = -1;   ///< Keys before the row's own position.
  int64_t right = -1;  ///< Keys after it.
};

/// Who sees what: row i of a sequence sits at position p = query_offset + i and sees the keys j of its
/// sequence with j <= p (if causal) and p - left <= j <= p + right. Each span is empty (the default of its
/// comment) or holds one entry per sequence.
struct visibility {
  bool causal = true;                          ///< Whether j <= p.
  tril::window window = {};                    ///< Default: none.
  std::span<const int32_t> q_lengths = {};     ///< Rows of each sequence; empty: all of q's.
  std::span<const int32_t> query_offset = {};  ///< Position of row 0; empty: keys - rows (bottom-right).
};

}  // namespace tril
