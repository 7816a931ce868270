#include "table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace tril::tool {
namespace {

std::string padded(const std::string& text, std::size_t width, table::align side) {
  const std::string space(width - text.size(), ' ');
  return side == table::align::left ? text + space : space + text;
}

std::string without_trailing_space(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

bool colours_wanted() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) && std::getenv("NO_COLOR") == nullptr && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

std::string toned(const std::string& text, tone t, bool colours) {
  if (!colours || t == tone::plain) return text;
  const char* code = t == tone::good ? "32" : t == tone::bad ? "1;31" : "2";
  return std::string("\033[") + code + "m" + text + "\033[0m";
}

std::string table::text(bool colours) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = columns_[c].title.size();
    for (const auto& row : rows_) width = std::max(width, row[c].text.size());
    widths.push_back(width);
  }
  const auto line = [&](auto cell_text) {
    std::string text;
    for (std::size_t c = 0; c < columns_.size(); ++c) text += (c == 0 ? "" : "  ") + cell_text(c);
    return without_trailing_space(text) + "\n";
  };
  std::string all = line([&](std::size_t c) {
    return toned(padded(columns_[c].title, widths[c], columns_[c].side), tone::faint, colours);
  });
  for (const auto& row : rows_)
    all += line(
        [&](std::size_t c) { return toned(padded(row[c].text, widths[c], columns_[c].side), row[c].tone, colours); });
  return all;
}

}  // namespace tril::tool
