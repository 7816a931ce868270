/// The main of suites that do not depend on an instruction set.

#include "support/run.hpp"

int main(int argc, char** argv) { return tril::test::run(argc, argv); }
