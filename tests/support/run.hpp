#pragma once

namespace tril::test {

/// Runs the test cases that the command line asks for; 0 after success.
int run(int argc, char** argv);

}  // namespace tril::test
