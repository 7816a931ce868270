/// The main of suites that run once per instruction set, the one that TRIL_ISA names.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/isa_used.hpp"
#include "support/run.hpp"
#include "tril/tril.h"

namespace {

constexpr int skipped = 77, broken = 99;  // Meson's exit codes

std::atomic<bool> asked_isa_was_used = false;

const char* asked_isa() {
  const char* name = std::getenv("TRIL_ISA");
  return name != nullptr && *name != '\0' ? name : nullptr;
}

bool is_built(const char* isa) {
  for (int i = 0; tril_isa_name(i) != nullptr; ++i)
    if (std::strcmp(tril_isa_name(i), isa) == 0) return true;
  return false;
}

}  // namespace

void tril::test::note_isa(const char* name) {
  const char* asked = asked_isa();
  if (asked != nullptr && std::strcmp(name, asked) == 0) asked_isa_was_used = true;
}

int main(int argc, char** argv) {
  const char* isa = asked_isa();
  if (isa != nullptr && !is_built(isa)) {
    std::fprintf(stderr, "TRIL_ISA: '%s' is not in this build\n", isa);
    return broken;
  }
  if (isa != nullptr && tril_isa_supported(isa) == 0) {
    std::printf("this machine does not run '%s'\n", isa);
    return skipped;
  }
  const int failed = tril::test::run(argc, argv);
  if (failed == 0 && isa != nullptr && !asked_isa_was_used) {
    std::fprintf(stderr, "TRIL_ISA: no test used '%s'\n", isa);
    return EXIT_FAILURE;
  }
  return failed;
}
