#include <string>
#include <vector>

#include "dispatch/registry.hpp"
#include "support/catch.hpp"
#include "support/context.hpp"

namespace {

std::vector<std::string> built() {
  std::vector<std::string> names;
  for (const tril::dispatch::isa& isa : tril::dispatch::built_isas()) names.emplace_back(isa.kernels->name);
  return names;
}

}  // namespace

TEST_CASE("The library under test has the test instruction sets in front of the real ones") {
  const std::vector<std::string> names = built();
  REQUIRE(names.size() >= 4);
  CHECK(std::vector(names.begin(), names.begin() + 4) ==
        std::vector<std::string>{"test3x1", "test7x2", "unsupported", "scalar"});
}

TEST_CASE("The best instruction set is a real one") {
  CHECK(std::string(tril::dispatch::best().kernels->name).find("test") == std::string::npos);
}
