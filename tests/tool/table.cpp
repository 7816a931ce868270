#include "table.hpp"

#include "support/catch.hpp"

using tril::tool::table, tril::tool::tone;

namespace {

table example() {
  table t({{"name", table::align::left}, {"ms"}});
  t.add({{"a"}, {"1.5", tone::good}});
  t.add({{"longer"}, {"12345", tone::bad}});
  return t;
}

}  // namespace

TEST_CASE("columns are as wide as they must be") {
  CHECK(example().text(false) == "name       ms\na         1.5\nlonger  12345\n");
}

TEST_CASE("colours change no width") {
  std::string text = example().text(true);
  CHECK(text.find("\033[32m  1.5\033[0m") != std::string::npos);
  CHECK(text.find("\033[1;31m12345\033[0m") != std::string::npos);
  for (std::size_t at; (at = text.find('\033')) != std::string::npos;) text.erase(at, text.find('m', at) + 1 - at);
  CHECK(text == example().text(false));
}
