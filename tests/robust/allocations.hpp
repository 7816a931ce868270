#pragma once

#include <cstdint>

namespace tril::test {

/// Watches what the code linked into this executable allocates and frees on this thread while it lives, and makes one
/// allocation fail. What shared libraries allocate for themselves (the C library for a file, oneTBB for its threads) is
/// theirs and not seen. One at a time per thread.
class allocation_watch {
 public:
  static constexpr std::int64_t none = -1;

  /// The allocation number `fail_at`, from 0, fails.
  explicit allocation_watch(std::int64_t fail_at = none);
  ~allocation_watch();
  allocation_watch(const allocation_watch&) = delete;
  allocation_watch& operator=(const allocation_watch&) = delete;

  std::int64_t asked() const;  ///< Allocations, the failed one among them.
  std::int64_t live() const;   ///< Those that succeeded, less what was freed.
};

}  // namespace tril::test
