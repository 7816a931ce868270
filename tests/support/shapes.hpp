#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tril::test {

/// Sizes at which a loop over tiles behaves differently: nothing but a tail, whole tiles, and one more or less.
inline std::vector<std::int64_t> around(std::int64_t tile) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : {std::int64_t{1}, tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1})
    if (size > 0) sizes.push_back(size);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

}  // namespace tril::test
