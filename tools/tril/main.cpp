#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "bad_input.hpp"
#include "command.hpp"
#include "tril/tril.h"

namespace {

constexpr int refused = 2;

/// Says why on one line, whatever the text holds, and returns the exit status.
int refuse(std::string why) {
  std::replace_if(
      why.begin(), why.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  std::fprintf(stderr, "tril: %s\n", why.c_str());
  return refused;
}

int run(int argc, char** argv) {
  CLI::App parser("SIMD attention on CPUs: what this machine runs, and how exact and fast it is", "tril");
  parser.require_subcommand(1);
  parser.set_version_flag("--version", std::string("tril ") + tril_version());
  const tril::tool::command commands[] = {tril::tool::add_info(parser), tril::tool::add_compare(parser)};
  try {
    parser.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return parser.exit(e);  // --help, --version
    const auto unknown = parser.remaining();
    const bool no_command = parser.get_subcommands().empty() && !unknown.empty() && unknown.front()[0] != '-';
    return refuse((no_command ? "there is no command '" + unknown.front() + "'" : e.what()) + "; see tril --help");
  }
  for (const auto& command : commands) {
    if (!command.flags->parsed()) continue;
    const int status = command.run();
    return std::fflush(stdout) == 0 ? status : refuse("cannot write to the standard output");
  }
  return refuse("no command; see tril --help");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const tril::tool::bad_input& e) {
    return refuse(e.what());
  } catch (const std::bad_alloc&) {
    return refuse("out of memory");
  } catch (const std::exception& e) {
    return refuse(e.what());
  }
}
