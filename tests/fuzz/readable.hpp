#pragma once

/// What the fuzz targets ask of a reader.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "array.hpp"
#include "bad_input.hpp"

namespace tril::test {

/// Reads, or is refused for a reason; anything else ends the process. `file_bytes` is what the file holds.
template <class Read>
void read_or_refused(std::size_t file_bytes, Read read) {
  const auto require = [](bool held, const char* what) {
    if (held) return;
    std::fprintf(stderr, "read_or_refused: %s\n", what);
    std::abort();
  };
  try {
    const tool::array read_array = read();
    std::size_t count = 1;
    for (const std::int64_t extent : read_array.shape) {
      require(extent >= 0, "an extent is negative");
      count *= static_cast<std::size_t>(extent);
    }
    require(read_array.values.size() == count, "there are other values than the shape has");
    require(2 * count < file_bytes, "there are more values than the file has");
  } catch (const tool::bad_input& e) {
    require(*e.what() != '\0', "refused without a reason");
  }
}

}  // namespace tril::test
