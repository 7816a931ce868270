#pragma once

#include <string>
#include <vector>

namespace tril::tool {

enum class tone { plain, good, bad, faint };

/// Whether the standard output is a terminal whose user has not refused colours (NO_COLOR).
bool colours_wanted();

/// The text in the colour of its tone, if `colours`.
std::string toned(const std::string& text, tone t, bool colours);

/// Columns of text, as wide as they must be.
class table {
 public:
  enum class align { left, right };
  struct column {
    std::string title;
    align side = align::right;
  };
  struct cell {
    std::string text;
    tool::tone tone = tone::plain;
  };

  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}
  /// One cell per column.
  void add(std::vector<cell> row) { rows_.push_back(std::move(row)); }
  std::string text(bool colours) const;

 private:
  std::vector<column> columns_;
  std::vector<std::vector<cell>> rows_;
};

}  // namespace tril::tool
