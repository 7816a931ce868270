#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include <cstdio>

#include "support/run.hpp"

namespace tril::test {

int run(int argc, char** argv) {
  Catch::Session session;
  // Runs repeat unless asked to vary: --rng-seed time.
  session.configData().rngSeed = 1;
  if (const int error = session.applyCommandLine(argc, argv); error != 0) return error;
  std::printf("random seed %u; repeat with --rng-seed %u\n", session.configData().rngSeed,
              session.configData().rngSeed);
  return session.run();
}

}  // namespace tril::test
