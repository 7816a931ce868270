#pragma once

#include <cstdio>
#include <cstdlib>

namespace tril::test {

/// Ends the process, for the fuzzer to see, unless `held`.
inline void must_hold(bool held, const char* what) {
  if (held) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace tril::test
