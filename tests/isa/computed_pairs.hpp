#pragma once

#include <atomic>
#include <cstdint>

namespace tril::test {

/// The (row, key) pairs whose scores the test instruction sets have computed so far. Rows that a tile has but its
/// block lacks are counted too.
inline std::atomic<std::int64_t> computed_pairs = 0;

}  // namespace tril::test
