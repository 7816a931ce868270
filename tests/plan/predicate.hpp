#pragma once

#include <cstdint>

namespace tril::test {

/// reference::visible for one sequence. Declared apart from it, because its headers have a class `plan` where
/// the library has a namespace.
struct predicate {
  bool causal;
  std::int64_t left, right;  // window; -1 is no bound
  std::int64_t rows, keys, first_position;

  bool sees(std::int64_t row, std::int64_t key) const;
};

}  // namespace tril::test
