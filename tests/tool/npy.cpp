#include "npy.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "bad_input.hpp"
#include "support/catch.hpp"
#include "tool/allocations.hpp"

using namespace tril;
using tool::npy_array, tool::read_npy, tool::write_npy;

namespace {

using extents = std::vector<std::int64_t>;

/// A directory of its own, gone at the end.
class directory {
 public:
  directory() : path_(std::filesystem::temp_directory_path() / ("tril-npy-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~directory() { std::filesystem::remove_all(path_); }
  std::string file(const char* name) const { return path_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const std::string& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

/// A file with that literal as its header and so many bytes of values.
std::string npy(const std::string& literal, std::size_t bytes, int version = 1) {
  return "\x93NUMPY" + std::string{static_cast<char>(version), '\0'} +
         little_endian(literal.size(), version == 1 ? 2 : 4) + literal + std::string(bytes, '\0');
}

std::string header(const std::string& shape, const std::string& dtype = "'<f4'", const std::string& order = "False") {
  return "{'descr': " + dtype + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

/// What the reader says about a file of those bytes; "" if it reads it.
std::string refusal(const std::string& bytes) {
  const directory d;
  put(d.file("x.npy"), bytes);
  try {
    read_npy(d.file("x.npy"));
    return "";
  } catch (const tool::bad_input& e) {
    return e.what();
  }
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), -1.5f);
  return values;
}

}  // namespace

TEST_CASE("what was written is read again") {
  const directory d;
  for (const extents& shape : {extents{2, 3, 4, 5}, {7}, {}, {3, 0, 2}, {1, 1, 1, 1}, {12, 11}}) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    write_npy(d.file("x.npy"), shape, ramp(count));
    const npy_array array = read_npy(d.file("x.npy"));
    CHECK(array.shape == shape);
    CHECK(array.values == ramp(count));
    const std::string bytes = bytes_of(d.file("x.npy"));
    CHECK((bytes.size() - 4 * count) % 64 == 0);  // values are aligned, as NumPy has them
    CHECK(bytes[bytes.size() - 4 * count - 1] == '\n');
  }
  CHECK(d.files() == 1);
}

TEST_CASE("a written header is the one of the format") {
  const directory d;
  write_npy(d.file("x.npy"), extents{1, 2}, ramp(2));
  const std::string bytes = bytes_of(d.file("x.npy"));
  CHECK(bytes.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK(bytes.substr(10, 61) == "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }  ");
  write_npy(d.file("x.npy"), extents{2}, ramp(2));
  CHECK(contains(bytes_of(d.file("x.npy")), "'shape': (2,), }"));
}

TEST_CASE("all three versions of the format are read") {
  const std::string values = std::string("\0\0\x80\x3F\0\0\0\xC0", 8);
  const directory d;
  for (const int version : {1, 2, 3}) {
    put(d.file("x.npy"), npy(header("(2,)"), 0, version) + values);
    CHECK(read_npy(d.file("x.npy")).values == std::vector{1.0f, -2.0f});
  }
  CHECK(contains(refusal(npy(header("(2,)"), 8, 4)), "version is 4"));
  CHECK(contains(refusal(npy(header("(2,)"), 8, 0)), "version is 0"));
}

TEST_CASE("a header may be written in any of Python's ways") {
  CHECK(refusal(npy("{'shape':(2,3),'fortran_order':False,'descr':'<f4'}", 24)) == "");
  CHECK(refusal(npy("{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (2, 3)}", 24)) == "");
  CHECK(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }", 24)) == "");
  CHECK(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': ( 2 , 3 , ) , }  \n", 24)) == "");
  CHECK(refusal(npy(header("()"), 4)) == "");
}

TEST_CASE("a header of anything else is refused") {
  for (const char* literal : {"",
                              "{",
                              "}",
                              "{}",
                              "[]",
                              "{'descr'}",
                              "{'descr': '<f4'}",
                              "{'descr': '<f4', 'fortran_order': False}",
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3)",
                              "{'descr': '<f4', 'fortran_order': False, 'shape': 6}",
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3),,}",
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3.0)}",
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,-3)}",
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3)} x",
                              "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,3)}",
                              "{'descr: '<f4', 'fortran_order': False, 'shape': (2,3)}",
                              "{'descr': '<f4, 'fortran_order': False, 'shape': (2,3)}",
                              "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,3)}",
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3), 'more': 1}",
                              "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,3)}"}) {
    INFO(literal);
    CHECK(contains(refusal(npy(literal, 24)), "its header is not"));
  }
}

TEST_CASE("a header of no sensible size is refused") {
  std::string shape = "(";
  for (int axis = 0; axis < 64; ++axis) shape += "1,";
  CHECK(refusal(npy(header(shape + ")"), 4)) == "");
  CHECK(contains(refusal(npy(header(shape + "1)"), 4)), "its header is not"));
  CHECK(refusal(npy(header("(1,)") + std::string(9000, ' '), 4)) == "");
  CHECK(contains(refusal(npy(header("(1,)") + std::string(10000, ' '), 4)), "its header takes 10"));
}

TEST_CASE("other types and orders are refused by name") {
  for (const char* dtype : {"'<f8'", "'>f4'", "'=f4'", "'|b1'", "'<f2'", "'<i4'", "''", "'<f4 '"})
    CHECK(contains(refusal(npy(header("(2, 3)", dtype), 24)), "its dtype is " + std::string(dtype)));
  CHECK(contains(refusal(npy(header("(2, 3)", "'<f4'", "True"), 24)), "Fortran order"));
}

TEST_CASE("a file that ends anywhere too early, or too late, is refused") {
  const directory d;
  write_npy(d.file("whole.npy"), extents{2, 3}, ramp(6));
  const std::string whole = bytes_of(d.file("whole.npy"));
  REQUIRE(refusal(whole) == "");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO(length);
    CHECK(contains(refusal(whole.substr(0, length)), length < 6 ? "not a .npy file" : "truncated"));
  }
  CHECK(contains(refusal(whole + '\0'), "1 bytes follow"));
}

TEST_CASE("nothing is allocated for a shape that the file does not bear out") {
  for (const char* shape :
       {"(1000000,)", "(1000000000000,)", "(1048576, 1048576)", "(4611686018427387904,)", "(9223372036854775807, 2)",
        "(4294967296, 4294967296)", "(4294967296, 4294967296, 0)", "(2147483648, 2147483648, 4)",
        "(9223372036854775808,)", "(99999999999999999999999999, 1)", "(4611686018427387905,)"}) {
    INFO(shape);
    test::reset_largest_allocation();
    const std::string why = refusal(npy(header(shape), 16));
    CHECK((contains(why, "truncated") || contains(why, "too large")));
    CHECK(test::largest_allocation() < 64 * 1024);
  }
  // Nor for the length of a header.
  std::string bytes = npy(header("(4,)"), 16, 2);
  bytes.replace(8, 4, little_endian(0xFFFFFFFF, 4));
  test::reset_largest_allocation();
  CHECK(contains(refusal(bytes), "truncated"));
  CHECK(test::largest_allocation() < 64 * 1024);
}

TEST_CASE("whatever bytes a file holds, it is read or refused") {
  const directory d;
  write_npy(d.file("x.npy"), extents{2, 3, 5}, ramp(30));
  const std::string good = bytes_of(d.file("x.npy"));
  std::mt19937 random(test::seed());
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  int read = 0, refused = 0;
  test::reset_largest_allocation();
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = good;
    for (std::size_t flips = 1 + below(4); flips > 0; --flips) {
      // Mostly where the header says something.
      char& byte = bytes[below(below(4) == 0 ? bytes.size() : 72)];
      byte = below(2) == 0 ? static_cast<char>(below(256)) : static_cast<char>(byte ^ (1 << below(8)));
    }
    if (below(8) == 0) bytes.resize(below(bytes.size()));
    put(d.file("x.npy"), bytes);
    try {
      const npy_array array = read_npy(d.file("x.npy"));
      std::size_t count = 1;
      for (const std::int64_t extent : array.shape) count *= static_cast<std::size_t>(extent);
      REQUIRE(array.values.size() == count);
      REQUIRE(4 * count < bytes.size());
      ++read;
    } catch (const tool::bad_input& e) {
      REQUIRE(contains(e.what(), d.file("x.npy") + ": "));
      ++refused;
    }
  }
  CHECK(read > 0);
  CHECK(refused > 1000);
  CHECK(test::largest_allocation() < 64 * 1024);
}

TEST_CASE("what is not a file, or not there, is refused") {
  const directory d;
  for (const std::string& name : {d.file("missing.npy"), d.file(""), std::string("/dev/zero"), std::string()}) {
    INFO(name);
    CHECK_THROWS_AS(read_npy(name), tool::bad_input);
  }
}

TEST_CASE("what cannot be written is told at once") {
  const directory d;
  std::filesystem::create_directory(d.file("folder"));
  for (const std::string& name : {d.file("missing/x.npy"), d.file("folder"), std::string("/dev/null"), std::string()}) {
    INFO(name);
    CHECK_THROWS_AS(tool::check_writable(name), tool::bad_input);
    CHECK_THROWS_AS(write_npy(name, extents{2}, ramp(2)), tool::bad_input);
  }
  CHECK_NOTHROW(tool::check_writable(d.file("x.npy")));
  CHECK(d.files() == 1);  // the folder
}

TEST_CASE("a file that cannot be written to its end leaves the one before") {
  const directory d;
  write_npy(d.file("x.npy"), extents{2}, ramp(2));
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK_THROWS_AS(write_npy(d.file("x.npy"), extents{100, 100}, ramp(10000)), tool::bad_input);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(read_npy(d.file("x.npy")).values == ramp(2));
  CHECK(d.files() == 1);
}
