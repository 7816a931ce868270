#pragma once

/// How commands read their flags. Values are parsed here rather than by the parser, to which an empty text is a
/// number that was not given.

#include <CLI/CLI.hpp>

#include <charconv>
#include <memory>
#include <string>

#include "bad_input.hpp"

namespace tril::tool {

template <class Number>
Number parse_number(const char* flag, const std::string& text) {
  Number value{};
  const char *begin = text.data(), *end = begin + text.size();
  const auto [behind, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range) throw bad_input("{}: {} is out of range", flag, text);
  if (error != std::errc() || behind != end) throw bad_input("{}: '{}' is not a number", flag, text);
  return value;
}

template <class Number, Number Least>
Number parse_at_least(const char* flag, const std::string& text) {
  const auto value = parse_number<Number>(flag, text);
  if (value < Least) throw bad_input("{}: {} is not at least {}", flag, value, Least);
  return value;
}

inline std::string parse_text(const char*, const std::string& text) { return text; }

/// Adds flags of one group of the help to a command; their values go to members of `options`.
template <class Options>
class flag_group {
 public:
  flag_group(CLI::App& command, std::shared_ptr<Options> options, const char* title)
      : command_(command), options_(std::move(options)), title_(title) {}

  /// `parse(flag, text)` makes the value; `type` is what the help calls it.
  template <class Parse, class Member>
  void add(const char* flag, const char* type, Parse parse, Member member, const std::string& what) {
    const auto read = [o = options_, flag, parse, member](const std::string& text) {
      (*o).*member = parse(flag, text);
    };
    command_.add_option_function<std::string>(flag, read, what)->type_name(type)->group(title_);
  }

  template <class Base>
  void add_switch(const char* flag, bool Base::*member, const std::string& what) {
    command_.add_flag(flag, (*options_).*member, what)->group(title_);
  }

 private:
  CLI::App& command_;
  std::shared_ptr<Options> options_;
  const char* title_;
};

}  // namespace tril::tool
