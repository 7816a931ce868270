#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace tril::tool {

struct close_file {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using open_file = std::unique_ptr<std::FILE, close_file>;

/// A file read from its beginning, of which no more is asked than it holds. Throws bad_input with the reason.
class file_reader {
 public:
  explicit file_reader(const std::string& name);

  /// Bytes that have not been read.
  std::uint64_t left() const { return left_; }

  void read(void* to, std::uint64_t bytes);
  void skip(std::uint64_t bytes);

  /// A little-endian number of at most 8 bytes.
  std::uint64_t number(int bytes);

  /// So many bytes.
  std::string text(std::uint64_t bytes);

 private:
  void take(std::uint64_t bytes);

  open_file file_;
  std::uint64_t left_ = 0;
};

}  // namespace tril::tool
