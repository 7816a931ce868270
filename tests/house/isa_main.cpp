/// A suite of the kind that runs once per instruction set, for isa_main.py to run.

#include <cstdlib>

#include "support/catch.hpp"
#include "support/isa_used.hpp"

TEST_CASE("uses the one that is asked for") { tril::test::note_isa(std::getenv("TRIL_ISA")); }
TEST_CASE("uses another one") { tril::test::note_isa("another"); }
TEST_CASE("fails") { CHECK(std::getenv("TRIL_ISA") == nullptr); }
