#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "bad_input.hpp"
#include "command.hpp"
#include "notice.hpp"
#include "tril/tril.h"

namespace {

constexpr int refused = 2;

int refuse(std::string why) {
  tril::tool::say(std::move(why));
  return refused;
}

int run(int argc, char** argv) {
  CLI::App parser("SIMD attention on CPUs: what this machine runs, and how exact and fast it is", "tril");
  parser.require_subcommand(1);
  parser.set_version_flag("--version", std::string("tril ") + tril_version());
  const tril::tool::command commands[] = {tril::tool::add_info(parser), tril::tool::add_compare(parser),
                                          tril::tool::add_inspect(parser), tril::tool::add_cost(parser)};
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
