#include "file_reader.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "bad_input.hpp"

static_assert(std::endian::native == std::endian::little, "numbers and values lie in files as in memory");

namespace tril::tool {

file_reader::file_reader(const std::string& name) {
  std::error_code error;
  const auto kind = std::filesystem::status(name, error);
  if (error) throw bad_input("{}", error.message());
  if (!std::filesystem::is_regular_file(kind)) throw bad_input("not a file");
  left_ = std::filesystem::file_size(name, error);
  if (error) throw bad_input("{}", error.message());
  file_.reset(std::fopen(name.c_str(), "rb"));
  if (!file_) throw bad_input("{}", std::strerror(errno));
}

void file_reader::take(std::uint64_t bytes) {
  if (bytes > left_) throw bad_input("truncated");
  left_ -= bytes;
}

void file_reader::read(void* to, std::uint64_t bytes) {
  take(bytes);
  if (bytes > 0 && std::fread(to, static_cast<std::size_t>(bytes), 1, file_.get()) != 1)
    throw bad_input("cannot be read to its end");
}

void file_reader::skip(std::uint64_t bytes) {
  take(bytes);
  if (fseeko(file_.get(), static_cast<off_t>(bytes), SEEK_CUR) != 0) throw bad_input("{}", std::strerror(errno));
}

std::uint64_t file_reader::number(int bytes) {
  std::uint64_t value = 0;
  read(&value, static_cast<std::uint64_t>(bytes));
  return value;
}

std::string file_reader::text(std::uint64_t bytes) {
  if (bytes > left_) throw bad_input("truncated");
  std::string text(static_cast<std::size_t>(bytes), '\0');
  read(text.data(), bytes);
  return text;
}

}  // namespace tril::tool
