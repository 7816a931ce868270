/// C and C++ must agree about tril.h: a program of one links a library of the other.

#include "as_seen.h"

#include <cstring>
#include <string>

#include "support/catch.hpp"

namespace {

#define SEEN seen_by_cpp
#define INITIAL initial_in_cpp
#include "as_seen.inc"

}  // namespace

TEST_CASE("C and C++ see the same structs") {
  std::size_t i = 0;
  for (; seen_by_cpp[i].name != nullptr; ++i) {
    REQUIRE(seen_by_c[i].name != nullptr);
    CAPTURE(seen_by_cpp[i].name);
    CHECK(std::string(seen_by_c[i].name) == seen_by_cpp[i].name);
    CHECK(seen_by_c[i].offset == seen_by_cpp[i].offset);
    CHECK(seen_by_c[i].size == seen_by_cpp[i].size);
  }
  CHECK(seen_by_c[i].name == nullptr);
  CHECK(i > 40);
}

TEST_CASE("C and C++ start from the same values") {
  std::size_t i = 0;
  for (; initial_in_cpp[i].type != nullptr; ++i) {
    REQUIRE(initial_in_c[i].type != nullptr);
    CAPTURE(initial_in_cpp[i].type);
    CHECK(std::string(initial_in_c[i].type) == initial_in_cpp[i].type);
    REQUIRE(initial_in_c[i].size == initial_in_cpp[i].size);
    CHECK(std::memcmp(initial_in_c[i].value, initial_in_cpp[i].value, initial_in_c[i].size) == 0);
    std::size_t struct_size;  // comes first
    std::memcpy(&struct_size, initial_in_c[i].value, sizeof struct_size);
    CHECK(struct_size == initial_in_c[i].size);
  }
  CHECK(i >= 6);
}
