#include "safetensors.hpp"

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "bad_input.hpp"
#include "support/catch.hpp"
#include "tool/allocations.hpp"
#include "tool/files.hpp"

using namespace tril;
using test::contains, test::directory, test::little_endian, test::put, test::safetensors;
using tool::read_safetensors;

namespace {

using extents = std::vector<std::int64_t>;

/// A member of a header.
std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape, std::uint64_t begin,
                   std::uint64_t end) {
  return '"' + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[)" +
         std::to_string(begin) + ',' + std::to_string(end) + "]}";
}

tool::array read(const std::string& bytes, const std::string& name) {
  const directory d;
  put(d.file("x.safetensors"), bytes);
  return read_safetensors(d.file("x.safetensors"), name);
}

/// What the reader says about a file of those bytes; "" if it reads it.
std::string refusal(const std::string& bytes, const std::optional<std::string>& name = "q") {
  const directory d;
  put(d.file("x.safetensors"), bytes);
  return test::refusal([&] { read_safetensors(d.file("x.safetensors"), name); });
}

std::string refusal(const std::string& header, std::size_t bytes) {
  return refusal(safetensors(header, std::string(bytes, '\0')));
}

/// Four types, not in the order of their names, and a type that is not read.
const std::string header = R"({"__metadata__":{"format":"pt"},)" + tensor("v", "F16", "[1,2]", 0, 4) + ',' +
                           tensor("k", "BF16", "[2]", 4, 8) + ',' + tensor("q", "F32", "[1,2,1]", 8, 16) + ',' +
                           tensor("a.b:c", "F64", "[]", 16, 24) + ',' + tensor("ids", "I64", "[1]", 24, 32) + "}  ";
const std::string values = little_endian(0xC0003C01, 4) + little_endian(0xC0003F81, 4) +
                           little_endian(0xC00000003F800001, 8) + little_endian(0xC008000000000001, 8) +
                           little_endian(7, 8);
const std::string whole = safetensors(header, values);

}  // namespace

TEST_CASE("tensors are read by their names") {
  const auto check = [&](const char* name, const extents& shape, const std::vector<float>& wanted, const char* how) {
    const auto array = read(whole, name);
    CHECK(array.shape == shape);
    CHECK(array.values == wanted);
    CHECK(array.conversion == how);
  };
  check("v", {1, 2}, {0x1.004p0f, -2.0f}, "float16, widened to float32");
  check("k", {2}, {0x1.02p0f, -2.0f}, "bfloat16, widened to float32");
  check("q", {1, 2, 1}, {0x1.000002p0f, -2.0f}, "");
  check("a.b:c", {}, {-3.0f}, "float64, rounded to float32");
}

TEST_CASE("names may be empty, escaped, or those of metadata") {
  CHECK(read(safetensors('{' + tensor("", "F32", "[1]", 0, 4) + '}', std::string(4, '\0')), "").values.size() == 1);
  CHECK(read(safetensors('{' + tensor(R"(\u00e9\")", "F32", "[0,3]", 0, 0) + '}', ""), "\xC3\xA9\"").shape ==
        extents{0, 3});
  CHECK(contains(refusal(whole, "__metadata__"), "no tensor '__metadata__'"));
}

TEST_CASE("without a name, or with another one, names are listed") {
  const std::string names = "a.b:c, ids, k, q, v";
  CHECK(contains(refusal(whole, std::nullopt), "x.safetensors: name one of its tensors behind a colon: " + names));
  CHECK(contains(refusal(whole, "Q"), "x.safetensors: it has no tensor 'Q', but " + names));
  CHECK(contains(refusal(whole, ""), "it has no tensor '', but " + names));
  std::string many = "{";
  for (int i = 10; i < 40; ++i) many += tensor("layer." + std::to_string(i), "F32", "[0]", 0, 0) + ',';
  many += tensor("z" + std::string(500, 'z'), "F32", "[0]", 0, 0) + '}';
  const std::string why = refusal(many, 0);
  CHECK(contains(why, "but layer.10, layer.11, "));
  CHECK(contains(why, ", layer.17 and 23 more"));
  CHECK(!contains(why, "layer.18"));
  CHECK(refusal('{' + tensor(std::string(500, 'z'), "F32", "[0]", 0, 0) + '}', 0).size() < 250);
  CHECK(contains(refusal("{}", 0), "it has no tensor 'q', but none"));
}

TEST_CASE("tensors of other types are refused by name") {
  CHECK(contains(refusal(whole, "ids"), "x.safetensors:ids: its dtype is I64, not F16, BF16, F32 or F64"));
  for (const char* dtype : {"", "f32", "F8_E4M3", "F32 ", "F128"})
    CHECK(contains(refusal('{' + tensor("q", dtype, "[1]", 0, 4) + '}', 4),
                   ".safetensors:q: its dtype is " + std::string(dtype)));
}

TEST_CASE("JSON of anything else is refused") {
  const std::string good = tensor("q", "F32", "[1]", 0, 4);
  const std::string whole = '{' + good + '}';
  REQUIRE(refusal(whole, 4) == "");
  REQUIRE(refusal(whole + " \n\t ", 4) == "");
  std::vector<std::string> texts = {"",
                                    "{",
                                    "[]",
                                    "null",
                                    "\"q\"",
                                    "7",
                                    ' ' + whole,
                                    "\xEF\xBB\xBF" + whole,
                                    '{' + good,
                                    '{' + good + ",}",
                                    whole + '}',
                                    whole + " x",
                                    whole + '\0',
                                    whole + '\0' + "]]",
                                    "{/**/" + good + '}',
                                    "{\"\xFF\":0," + good + '}',
                                    R"({"__metadata__":{"a":[[1]]},)" + good + '}',
                                    R"({"\ud800":0,)" + good + '}'};
  for (const char* description : {"null",
                                  "[]",
                                  "{}",
                                  R"({"dtype":"F32","shape":[1]})",
                                  R"({"dtype":"F32","data_offsets":[0,4]})",
                                  R"({"shape":[1],"data_offsets":[0,4]})",
                                  R"({"dtype":"F32","shape":[1],"offsets":[0,4]})",
                                  R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1})",
                                  R"({"dtype":4,"shape":[1],"data_offsets":[0,4]})",
                                  R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})",
                                  R"({"dtype":"F32","shape":{"a":1},"data_offsets":[0,4]})",
                                  R"({"dtype":"F32","shape":["1"],"data_offsets":[0,4]})",
                                  R"({"dtype":"F32","shape":[[1]],"data_offsets":[0,4]})",
                                  R"({"dtype":"F32","shape":[[[1]]],"data_offsets":[0,4]})",
                                  R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})",
                                  R"({"dtype":"F32","shape":[1e999],"data_offsets":[0,4]})",
                                  R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})",
                                  R"({"dtype":"F32","shape":[18446744073709551617],"data_offsets":[0,4]})",
                                  R"({"dtype":"F32","shape":[1],"data_offsets":[0]})",
                                  R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,4]})",
                                  R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})"})
    texts.push_back(std::string(R"({"q":)") + description + '}');
  for (const std::string& text : texts) {
    INFO(text);
    CHECK(contains(refusal(text, 4), "x.safetensors: its header is not that of a .safetensors file"));
  }
  std::string axes = "1";
  for (int axis = 1; axis < 64; ++axis) axes += ",1";
  CHECK(refusal('{' + tensor("q", "F32", '[' + axes + ']', 0, 4) + '}', 4) == "");
  CHECK(contains(refusal('{' + tensor("q", "F32", '[' + axes + ",1]", 0, 4) + '}', 4), "its header is not"));
}

TEST_CASE("nothing is named twice") {
  const std::string q = tensor("q", "F32", "[1]", 0, 4);
  CHECK(contains(refusal('{' + q + ',' + q + '}', 4), "its header names q twice"));
  CHECK(contains(refusal('{' + q + ',' + tensor(R"(\u0071)", "F32", "[1]", 0, 4) + '}', 4), "names q twice"));
  CHECK(contains(refusal(R"({"q":{"dtype":"F32","shape":[1],"dtype":"F32","data_offsets":[0,4]}})", 4),
                 "names dtype twice"));
  CHECK(contains(refusal(R"({"__metadata__":{"a":"1","a":"2"},)" + q + '}', 4), "names a twice"));
  // Of other objects, it may be.
  CHECK(refusal(R"({"__metadata__":{"q":"1","dtype":"2"},)" + q + '}', 4) == "");
}

TEST_CASE("values lie one behind another, and fill the file") {
  const auto two = [](std::uint64_t q_begin, std::uint64_t q_end, std::uint64_t k_begin, std::uint64_t k_end) {
    return refusal(
        '{' + tensor("q", "F32", "[2]", q_begin, q_end) + ',' + tensor("k", "U8", "[4]", k_begin, k_end) + '}', 12);
  };
  CHECK(two(0, 8, 8, 12) == "");
  CHECK(two(4, 12, 0, 4) == "");
  CHECK(contains(two(0, 8, 4, 12), "offsets [4, 12] in its header, where 8 must begin"));
  CHECK(contains(two(4, 12, 8, 12), "offsets [4, 12] in its header, where 0 must begin"));
  CHECK(contains(two(0, 8, 9, 12), "where 8 must begin"));
  CHECK(contains(two(0, 8, 8, 4), "offsets [8, 4]"));
  CHECK(contains(two(0, 8, 8, 13), "truncated: 12 bytes of values, its header tells of 13"));
  CHECK(contains(two(0, 8, 8, 18446744073709551615u), "truncated"));
  CHECK(contains(two(0, 8, 8, 11), "1 bytes follow after its values"));
  CHECK(contains(refusal("{}", 5), "5 bytes follow"));
}

TEST_CASE("a shape has as many bytes as its offsets") {
  const auto one = [](const char* dtype, const char* shape, std::size_t bytes) {
    return refusal('{' + tensor("q", dtype, shape, 0, bytes) + '}', bytes);
  };
  CHECK(one("F64", "[2,3]", 48) == "");
  CHECK(one("BF16", "[2,3]", 12) == "");
  CHECK(contains(one("F32", "[2,3]", 23), ".safetensors:q: 23 bytes of values, its shape (2, 3) has 24"));
  CHECK(contains(one("F16", "[2,3]", 24), ".safetensors:q: 24 bytes of values, its shape (2, 3) has 12"));
  CHECK(contains(one("F32", "[]", 0), "has 4"));
  CHECK(contains(one("F32", "[4611686018427387905]", 4), "its shape (4611686018427387905,) is too large"));
  CHECK(contains(one("F16", "[4294967296,4294967296]", 0), "too large"));
  CHECK(contains(one("F16", "[0,9223372036854775808]", 0), "too large"));
  CHECK(one("F16", "[0,9223372036854775807]", 0) == "");
}

TEST_CASE("a .safetensors file that ends anywhere too early, or too late, is refused") {
  REQUIRE(refusal(whole) == "");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO(length);
    CHECK(contains(refusal(whole.substr(0, length)), "truncated"));
  }
  CHECK(contains(refusal(whole + '\0'), "1 bytes follow"));
}

TEST_CASE("nothing is allocated for a header or tensor that the file does not bear out") {
  test::reset_largest_allocation();
  CHECK(contains(refusal(little_endian(100'000'000, 8) + "{}"), "truncated"));
  CHECK(contains(refusal(little_endian(100'000'001, 8) + "{}"), "a header of 100000001 bytes"));
  CHECK(contains(refusal(std::string(16, '\xFF')), "a header of 18446744073709551615 bytes"));
  CHECK(contains(refusal('{' + tensor("q", "F32", "[1000000000]", 0, 4000000000) + '}', 4), "truncated"));
  CHECK(contains(refusal('{' + tensor("q", "F32", "[1000000000]", 0, 4) + '}', 4), "has 4000000000"));
  CHECK(contains(refusal(std::string(R"({"q":)") + std::string(3000, '['), 4), "its header is not"));
  CHECK(test::largest_allocation() < 64 * 1024);
}

TEST_CASE("whatever bytes a .safetensors file holds, it is read or refused") {
  const directory d;
  std::mt19937 random(test::seed());
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  int read = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = whole;
    for (std::size_t flips = 1 + below(3); flips > 0; --flips) {
      char& byte = bytes[below(bytes.size())];
      byte = below(2) == 0 ? static_cast<char>(below(256)) : static_cast<char>(byte ^ (1 << below(8)));
    }
    put(d.file("x.safetensors"), bytes);
    const std::string why = test::refusal([&] {
      const auto array = read_safetensors(d.file("x.safetensors"), "q");
      std::size_t count = 1;
      for (const std::int64_t extent : array.shape) count *= static_cast<std::size_t>(extent);
      REQUIRE(array.values.size() == count);
    });
    REQUIRE((why.empty() || contains(why, d.file("x.safetensors") + ':')));
    ++(why.empty() ? read : refused);
  }
  CHECK(read > 0);
  CHECK(refused > 1000);
}

TEST_CASE("what is not a file, or not there, holds no tensor") {
  const directory d;
  for (const std::string& name : {d.file("missing.safetensors"), d.file(""), std::string("/dev/zero"), std::string()}) {
    INFO(name);
    CHECK_THROWS_AS(read_safetensors(name, "q"), tool::bad_input);
  }
}
