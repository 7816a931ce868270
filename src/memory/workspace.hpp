#pragma once

#include <cstddef>

#include "memory/aligned.hpp"

namespace tril {

/// Adds up the parts of a workspace: each reserve() gives the offset of a part that starts on a cache line.
/// The same additions give the size of the whole, so that what is promised is what is used.
class workspace_layout {
 public:
  std::size_t reserve(std::size_t bytes) noexcept {
    const std::size_t offset = bytes_;
    bytes_ += (bytes + cache_line - 1) / cache_line * cache_line;
    return offset;
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace tril
