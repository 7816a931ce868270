#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>
#include <utility>

namespace tril::tool {

/// What was asked for cannot be done. The text names the argument; it becomes one line and exit status 2.
class bad_input : public std::runtime_error {
 public:
  template <class... Values>
  explicit bad_input(fmt::format_string<Values...> text, Values&&... values)
      : std::runtime_error(fmt::format(text, std::forward<Values>(values)...)) {}
};

/// Does something for an argument, and names it in what goes wrong.
template <class Use>
auto naming(std::string_view argument, Use use) {
  try {
    return use();
  } catch (const bad_input& e) {
    throw bad_input("{}: {}", argument, e.what());
  }
}

}  // namespace tril::tool
