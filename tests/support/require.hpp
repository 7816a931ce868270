#pragma once

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "tril/status.hpp"

namespace tril::test {

inline void require(const report& r) {
  INFO(r.text);
  REQUIRE(r.ok);
}

inline void require(const status& s) {
  INFO(s.message());
  REQUIRE(s.code() == code::ok);
}

}  // namespace tril::test
