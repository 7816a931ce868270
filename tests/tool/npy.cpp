#include "npy.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <numeric>
#include <random>

#include "bad_input.hpp"
#include "machine.hpp"
#include "support/catch.hpp"
#include "tool/allocations.hpp"
#include "tool/files.hpp"

using namespace tril;
using test::bytes_of, test::contains, test::directory, test::little_endian, test::npy_header, test::put;
using tool::read_npy, tool::write_npy;

namespace {

using extents = std::vector<std::int64_t>;

/// What the reader says about a file of those bytes; "" if it reads it.
std::string refusal(const std::string& bytes) {
  const directory d;
  put(d.file("x.npy"), bytes);
  return test::refusal([&] { read_npy(d.file("x.npy")); });
}

/// A file with that literal as its header and so many bytes of zeros.
std::string npy(const std::string& literal, std::size_t bytes, int version = 1) {
  return test::npy(literal, std::string(bytes, '\0'), version);
}

/// The array of a file of float64 or so.
tool::array read_of(const std::string& header, const std::string& values) {
  const directory d;
  put(d.file("x.npy"), test::npy(header, values));
  return read_npy(d.file("x.npy"));
}

template <class Bits>
std::string bytes(std::initializer_list<Bits> values, bool big_endian = false) {
  std::string text;
  for (const Bits value : values) {
    std::string one = little_endian(value, sizeof(Bits));
    if (big_endian) std::reverse(one.begin(), one.end());
    text += one;
  }
  return text;
}

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
    const tool::array array = read_npy(d.file("x.npy"));
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
    put(d.file("x.npy"), test::npy(npy_header("(2,)"), values, version));
    CHECK(read_npy(d.file("x.npy")).values == std::vector{1.0f, -2.0f});
  }
  CHECK(contains(refusal(npy(npy_header("(2,)"), 8, 4)), "version is 4"));
  CHECK(contains(refusal(npy(npy_header("(2,)"), 8, 0)), "version is 0"));
}

TEST_CASE("a header may be written in any of Python's ways") {
  CHECK(refusal(npy("{'shape':(2,3),'fortran_order':False,'descr':'<f4'}", 24)) == "");
  CHECK(refusal(npy("{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (2, 3)}", 24)) == "");
  CHECK(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }", 24)) == "");
  CHECK(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': ( 2 , 3 , ) , }  \n", 24)) == "");
  CHECK(refusal(npy(npy_header("()"), 4)) == "");
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
  CHECK(refusal(npy(npy_header(shape + ")"), 4)) == "");
  CHECK(contains(refusal(npy(npy_header(shape + "1)"), 4)), "its header is not"));
  CHECK(refusal(npy(npy_header("(1,)") + std::string(9000, ' '), 4)) == "");
  CHECK(contains(refusal(npy(npy_header("(1,)") + std::string(10000, ' '), 4)), "its header takes 10"));
}

TEST_CASE("other types are refused by name") {
  for (const char* dtype : {"'=f4'", "'|b1'", "'|f4'", "'<f16'", "'<i4'", "'<c8'", "''", "'<'", "'f4'", "'<f4 '"})
    CHECK(contains(refusal(npy(npy_header("(2, 3)", dtype), 24)), "its dtype is " + std::string(dtype)));
}

TEST_CASE("16 bits are widened, 64 rounded, either end first") {
  for (const bool big_endian : {false, true}) {
    const std::string end = big_endian ? "'>" : "'<";
    const auto half =
        read_of(npy_header("(4,)", end + "f2'"), bytes<std::uint16_t>({0x3C01, 0xC000, 0x0001, 0x7C00}, big_endian));
    CHECK(half.values == std::vector{0x1.004p0f, -2.0f, 0x1p-24f, HUGE_VALF});
    CHECK(half.conversion == "float16, widened to float32");
    const auto single =
        read_of(npy_header("(2,)", end + "f4'"), bytes<std::uint32_t>({0x3F800001, 0xC0000000}, big_endian));
    CHECK(single.values == std::vector{0x1.000002p0f, -2.0f});
    CHECK(single.conversion == "");
    // A tie between 1 and its neighbour, and what lies above it.
    const auto both =
        read_of(npy_header("(3,)", end + "f8'"),
                bytes<std::uint64_t>({0x3FF0000010000000, 0x3FF0000010000001, 0xC008000000000000}, big_endian));
    CHECK(both.values == std::vector{1.0f, 0x1.000002p0f, -3.0f});
    CHECK(both.conversion == "float64, rounded to float32");
  }
}

TEST_CASE("finite values beyond float32 become infinite, and are counted") {
  const auto array =
      read_of(npy_header("(6,)", "'<f8'"),
              bytes<std::uint64_t>({std::bit_cast<std::uint64_t>(0x1.fffffefffffffp127),
                                    std::bit_cast<std::uint64_t>(0x1.ffffffp127), std::bit_cast<std::uint64_t>(-1e300),
                                    0x7FF0000000000000, 0xFFF0000000000000, std::bit_cast<std::uint64_t>(0x1p-150)}));
  CHECK(array.values == std::vector{FLT_MAX, HUGE_VALF, -HUGE_VALF, HUGE_VALF, -HUGE_VALF, 0.0f});
  CHECK(array.conversion == "float64, rounded to float32; 2 of its finite values became infinite");
  CHECK(std::isnan(read_of(npy_header("()", "'<f8'"), bytes<std::uint64_t>({0x7FF8000000000000})).values[0]));
}

TEST_CASE("values are in C order, however the file has them") {
  const extents shape = {2, 3, 1, 4};
  std::string values;  // the one at (a, b, 0, d) is a + 10 b + 100 d
  for (std::uint32_t d = 0; d < 4; ++d)
    for (std::uint32_t b = 0; b < 3; ++b)
      for (std::uint32_t a = 0; a < 2; ++a)
        values += little_endian(std::bit_cast<std::uint32_t>(static_cast<float>(a + 10 * b + 100 * d)), 4);
  const auto array = read_of(npy_header("(2, 3, 1, 4)", "'<f4'", "True"), values);
  CHECK(array.shape == shape);
  std::vector<float> wanted;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int d = 0; d < 4; ++d) wanted.push_back(static_cast<float>(a + 10 * b + 100 * d));
  CHECK(array.values == wanted);
  const auto ramp = bytes<std::uint16_t>({0x3C00, 0x4000, 0x4200});
  for (const char* one_way : {"(3,)", "(3, 1)", "(1, 3)", "(1, 1, 3, 1)"})
    CHECK(read_of(npy_header(one_way, "'<f2'", "True"), ramp).values == std::vector{1.0f, 2.0f, 3.0f});
  CHECK(read_of(npy_header("(3, 0, 2)", "'<f2'", "True"), "").values.empty());
  CHECK(read_of(npy_header("()", "'<f2'", "True"), ramp.substr(0, 2)).values == std::vector{1.0f});
}

TEST_CASE("files longer than a piece are read whole") {
  const std::size_t count = 20001;
  std::string values;
  for (std::size_t i = 0; i < count; ++i) values += little_endian(0x6400 + i % 1024, 2);  // 1024 + i % 1024
  const auto array = read_of(npy_header("(20001,)", "'<f2'"), values);
  REQUIRE(array.values.size() == count);
  for (std::size_t i = 0; i < count; ++i) REQUIRE(array.values[i] == static_cast<float>(1024 + i % 1024));
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
    const std::string why = refusal(npy(npy_header(shape), 16));
    CHECK((contains(why, "truncated") || contains(why, "too large")));
    CHECK(test::largest_allocation() < 64 * 1024);
  }
  // Nor for the length of a header.
  std::string bytes = npy(npy_header("(4,)"), 16, 2);
  bytes.replace(8, 4, little_endian(0xFFFFFFFF, 4));
  test::reset_largest_allocation();
  CHECK(contains(refusal(bytes), "truncated"));
  CHECK(test::largest_allocation() < 64 * 1024);
}

TEST_CASE("values that do not fit into memory are refused, though the file has them") {
  const std::uint64_t count = tool::physical_memory() / sizeof(float) + 1;
  const std::string start = npy(npy_header('(' + std::to_string(count) + ",)", "'<f2'"), 0);
  const directory d;
  put(d.file("x.npy"), start);
  std::filesystem::resize_file(d.file("x.npy"), start.size() + 2 * count);  // takes no room on the disk
  test::reset_largest_allocation();
  CHECK(contains(test::refusal([&] { read_npy(d.file("x.npy")); }), "do not fit into this machine's memory"));
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
      const tool::array array = read_npy(d.file("x.npy"));
      std::size_t count = 1;
      for (const std::int64_t extent : array.shape) count *= static_cast<std::size_t>(extent);
      REQUIRE(array.values.size() == count);
      REQUIRE(2 * count < bytes.size());
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
