#pragma once

/// What a command of the tool is: its flags, and what it does with them.

#include <functional>

namespace CLI {
class App;
}

namespace tril::tool {

struct command {
  CLI::App* flags;           // owned by the parser it was added to
  std::function<int()> run;  // the exit status
};

command add_info(CLI::App& parser);
command add_compare(CLI::App& parser);
command add_inspect(CLI::App& parser);
command add_cost(CLI::App& parser);

}  // namespace tril::tool
