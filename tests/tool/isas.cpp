#include "isas.hpp"

#include "bad_input.hpp"
#include "support/catch.hpp"

using namespace tril;
using tool::choose_isas;

namespace {

contract::kernel_table named(const char* name) {
  contract::kernel_table table = {};
  table.name = name;
  return table;
}

const contract::kernel_table plain = named("plain"), wide = named("wide"), future = named("future");
const dispatch::isa built[] = {{&plain, []() noexcept { return true; }},
                               {&wide, []() noexcept { return true; }},
                               {&future, []() noexcept { return false; }}};

std::vector<std::string> chosen(const std::optional<std::string>& list) {
  std::vector<std::string> names;
  for (const dispatch::isa* i : choose_isas(list, built)) names.emplace_back(i->kernels->name);
  return names;
}

std::string refusal(const std::string& list) {
  try {
    choose_isas(list, built);
  } catch (const tool::bad_input& e) {
    return e.what();
  }
  return "accepted";
}

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("without a list, all that this machine runs are chosen") { CHECK(chosen({}) == names{"plain", "wide"}); }

TEST_CASE("a list chooses in the order of the build, each once") {
  CHECK(chosen("plain") == names{"plain"});
  CHECK(chosen("wide,plain") == names{"plain", "wide"});
  CHECK(chosen("wide,wide") == names{"wide"});
}

TEST_CASE("a name that is not there is refused with those that are") {
  CHECK(refusal("wider") == "--isa: 'wider' is not in this build, which has plain, wide, future");
  for (const char* list : {"", ",", "plain,", ",plain", "plain,,wide", "plain, wide", "PLAIN", "plai"})
    CHECK(refusal(list).find("is not in this build") != std::string::npos);
}

TEST_CASE("what this machine does not run is refused") {
  CHECK(refusal("plain,future") == "--isa: this machine does not run 'future'");
}
