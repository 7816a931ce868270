#include "npy.hpp"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "bad_input.hpp"
#include "file_reader.hpp"
#include "values.hpp"

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

namespace tril::tool {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::uint64_t longest_header = 10000;  // bytes; NumPy reads no longer one either, unless told to
constexpr std::size_t most_axes = 64;

struct header {
  std::string dtype;
  bool fortran_order;
  std::vector<std::int64_t> shape;
};

/// Reads the one literal that a header may be: a dictionary of a string, a truth value and a tuple of integers.
class literal {
 public:
  explicit literal(std::string_view text) : left_(text) {}

  header dictionary() {
    std::optional<std::string> dtype;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::int64_t>> shape;
    take('{');
    while (!next_is('}')) {
      const std::string key = string();
      take(':');
      if (key == "descr" && !dtype)
        dtype = string();
      else if (key == "fortran_order" && !fortran_order)
        fortran_order = truth();
      else if (key == "shape" && !shape)
        shape = tuple();
      else
        fail();
      if (!next_is('}')) take(',');
    }
    take('}');
    skip_space();
    if (!left_.empty() || !dtype || !fortran_order || !shape) fail();
    return {*dtype, *fortran_order, *shape};
  }

 private:
  [[noreturn]] static void fail() { throw bad_input("its header is not what NumPy writes for a plain array"); }

  void skip_space() {
    while (!left_.empty() && (left_.front() == ' ' || left_.front() == '\n')) left_.remove_prefix(1);
  }
  bool next_is(char c) {
    skip_space();
    return !left_.empty() && left_.front() == c;
  }
  void take(char c) {
    if (!next_is(c)) fail();
    left_.remove_prefix(1);
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (left_.substr(0, word.size()) != word) return false;
    left_.remove_prefix(word.size());
    return true;
  }

  std::string string() {
    const char quote = next_is('"') ? '"' : '\'';
    take(quote);
    const std::size_t length = left_.find(quote);
    if (length == std::string_view::npos) fail();
    std::string text(left_.substr(0, length));
    left_.remove_prefix(length + 1);
    return text;
  }
  bool truth() {
    if (take_word("True")) return true;
    if (!take_word("False")) fail();
    return false;
  }
  std::int64_t integer() {
    skip_space();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
    if (error == std::errc::result_out_of_range) throw bad_input("its shape is too large");
    if (error != std::errc() || value < 0) fail();
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    if (next_is('L')) take('L');  // Python 2
    return value;
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    take('(');
    while (!next_is(')')) {
      if (values.size() == most_axes) fail();
      values.push_back(integer());
      if (!next_is(')')) take(',');
    }
    take(')');
    return values;
  }

  std::string_view left_;
};

header read_header(file_reader& in) {
  if (in.left() < magic.size() || in.text(magic.size()) != magic) throw bad_input("not a .npy file");
  const auto major = in.number(1);
  in.number(1);
  if (major < 1 || major > 3) throw bad_input("its format version is {}, not 1 to 3", major);
  const auto length = in.number(major == 1 ? 2 : 4);
  if (length > in.left()) throw bad_input("truncated");
  if (length > longest_header) throw bad_input("its header takes {} bytes", length);
  const std::string text = in.text(length);
  return literal(text).dictionary();
}

element element_of(const std::string& dtype) {
  static const std::map<std::string_view, decltype(element::type)> types = {
      {"f2", element::f16}, {"f4", element::f32}, {"f8", element::f64}};
  const auto found = types.find(std::string_view(dtype).substr(dtype.empty() ? 0 : 1));
  if (found == types.end() || (dtype[0] != '<' && dtype[0] != '>'))
    throw bad_input("its dtype is '{}', not float16, float32 or float64", dtype);
  return {found->second, dtype[0] == '>'};
}

array read(const std::string& file) {
  file_reader in(file);
  header h = read_header(in);
  const element stored = element_of(h.dtype);
  if (const auto bytes = bytes_of(stored, h.shape); bytes < in.left())
    throw bad_input("{} bytes follow after its values", in.left() - bytes);
  array values = read_values(in, stored, std::move(h.shape));
  if (h.fortran_order) from_fortran_order(values);
  return values;
}

/// A new file beside the one it is to replace; gone again unless it does so.
class replacement {
 public:
  explicit replacement(const std::string& target) : target_(target), name_(fmt::format("{}.{}.tmp", target, getpid())) {
    if (!std::filesystem::path(target).has_filename()) throw bad_input("not the name of a file");
    std::error_code error;
    const auto kind = std::filesystem::status(target, error);
    // Renaming would replace a device or a pipe, not write to it.
    if (std::filesystem::exists(kind) && !std::filesystem::is_regular_file(kind)) throw bad_input("not a file");
    file_.reset(std::fopen(name_.c_str(), "wbx"));
    if (!file_) throw bad_input("{}", std::strerror(errno));
  }
  ~replacement() {
    if (!name_.empty()) std::remove(name_.c_str());
  }
  replacement(const replacement&) = delete;
  replacement& operator=(const replacement&) = delete;

  void write(const void* from, std::size_t bytes) {
    if (bytes > 0 && std::fwrite(from, bytes, 1, file_.get()) != 1) throw bad_input("{}", std::strerror(errno));
  }
  void commit() {
    if (std::fclose(file_.release()) != 0) throw bad_input("{}", std::strerror(errno));
    if (std::rename(name_.c_str(), target_.c_str()) != 0) throw bad_input("{}", std::strerror(errno));
    name_.clear();
  }

 private:
  std::string target_, name_;
  open_file file_;
};

}  // namespace

array read_npy(const std::string& file) {
  return naming(file, [&] { return read(file); });
}

void check_writable(const std::string& file) {
  naming(file, [&] { replacement{file}; });
}

void write_npy(const std::string& file, std::span<const std::int64_t> shape, std::span<const float> values) {
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape_text(shape));
  constexpr std::size_t preamble = magic.size() + 4, alignment = 64;
  text.append(alignment - 1 - (preamble + text.size()) % alignment, ' ');
  text += '\n';
  const char version_and_length[] = {1, 0, static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  naming(file, [&] {
    replacement out(file);
    out.write(magic.data(), magic.size());
    out.write(version_and_length, sizeof version_and_length);
    out.write(text.data(), text.size());
    out.write(values.data(), values.size_bytes());
    out.commit();
  });
}

}  // namespace tril::tool
