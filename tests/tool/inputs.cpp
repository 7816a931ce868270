#include "inputs.hpp"

#include <bit>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>

#include "array.hpp"
#include "npy.hpp"
#include "support/catch.hpp"
#include "tool/files.hpp"

using namespace tril;
using test::contains, test::directory, test::put;
using tool::axes, tool::make_inputs, tool::read_array_like, tool::read_inputs;

namespace {

constexpr tool::preset small = {.name = "small", .q_heads = 4, .kv_heads = 2, .dim = 8, .value_dim = 6};

}  // namespace

TEST_CASE("made-up values have the standard normal distribution") {
  const auto in = make_inputs(small, 4000, test::seed());
  REQUIRE(in.q.size() == 4000 * 4 * 8);
  double sum = 0, squares = 0, fourths = 0;
  for (const float x : in.q) {
    sum += static_cast<double>(x);
    squares += std::pow(x, 2);
    fourths += std::pow(x, 4);
  }
  const auto n = static_cast<double>(in.q.size());
  // Six standard deviations of each estimate: 1, 2 and 96 over n.
  CHECK(std::abs(sum / n) < 6 * std::sqrt(1 / n));
  CHECK(std::abs(squares / n - 1) < 6 * std::sqrt(2 / n));
  CHECK(std::abs(fourths / n - 3) < 6 * std::sqrt(96 / n));
}

TEST_CASE("made-up values are the same ones on every machine") {
  const auto in = make_inputs(small, 100, 1);
  REQUIRE(in.v.size() == 100 * 2 * 6);
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const auto* values : {&in.q, &in.k, &in.v})
    for (const float x : *values) hash = (hash ^ std::bit_cast<std::uint32_t>(x)) * 0x100000001B3u;
  CHECK(hash == 0x470D7771BF0BBF27u);
}

TEST_CASE("made-up values differ between seeds and tensors") {
  const auto in = make_inputs(small, 10, 1), other = make_inputs(small, 10, 2);
  CHECK(in.q != other.q);
  CHECK(std::set<float>(in.k.begin(), in.k.end()).size() > in.k.size() - 3);
  CHECK(std::vector<float>(in.q.begin(), in.q.begin() + 100) != std::vector<float>(in.k.begin(), in.k.begin() + 100));
}

TEST_CASE("a layout and its array agree on the axes") {
  const auto shape = [](const axes& order) { return tool::shape_of(order, tool::layout_of(order, 2, 3, 5, 7)); };
  using extents = std::vector<std::int64_t>;
  CHECK(shape({}) == extents{2, 3, 5, 7});
  CHECK(shape({.head_major = true}) == extents{2, 5, 3, 7});
  CHECK(shape({.batch = false}) == extents{3, 5, 7});
  CHECK(shape({.head_major = true, .batch = false}) == extents{5, 3, 7});
  CHECK(shape({.batch = false, .heads = false}) == extents{3, 7});
  CHECK(shape({.head_major = true, .batch = false, .heads = false}) == extents{3, 7});
}

TEST_CASE("files may go without the batch, and without the heads") {
  const directory d;
  using extents = std::vector<std::int64_t>;
  const auto read = [&](const extents& shape, bool head_major) {
    std::vector<float> values(24);
    std::iota(values.begin(), values.end(), 0.0f);
    tool::write_npy(d.file("x.npy"), shape, values);
    const auto in = read_inputs(d.file("x.npy"), d.file("x.npy"), d.file("x.npy"), head_major);
    CHECK(in.q == values);
    CHECK(tool::shape_of(in.order, in.v_layout) == shape);
    CHECK(read_array_like("--expect", d.file("x.npy"), in.order, in.q_layout) == values);
    return extents(std::begin(in.k_layout.extents), std::end(in.k_layout.extents));
  };
  CHECK(read({2, 3, 4, 1}, false) == extents{2, 3, 4, 1});
  CHECK(read({2, 3, 4, 1}, true) == extents{2, 4, 3, 1});
  CHECK(read({3, 4, 2}, false) == extents{1, 3, 4, 2});
  CHECK(read({3, 4, 2}, true) == extents{1, 4, 3, 2});
  CHECK(read({6, 4}, false) == extents{1, 6, 1, 4});
  CHECK(read({6, 4}, true) == extents{1, 6, 1, 4});
}

TEST_CASE("other numbers of axes are refused") {
  const directory d;
  const auto refused = [&](const std::vector<std::int64_t>& q, const std::vector<std::int64_t>& v) {
    tool::write_npy(d.file("q.npy"), q, std::vector<float>(8));
    tool::write_npy(d.file("v.npy"), v, std::vector<float>(8));
    return test::refusal([&] { read_inputs(d.file("q.npy"), d.file("q.npy"), d.file("v.npy"), false); });
  };
  CHECK(contains(refused({8}, {8}), "--q: " + d.file("q.npy") + ": its shape is (8,), not of 4 axes"));
  CHECK(contains(refused({1, 1, 2, 2, 2}, {8, 1}), "--q: " + d.file("q.npy") + ": its shape is (1, 1, 2, 2, 2), not"));
  CHECK(contains(refused({4, 2}, {4, 1, 2}), "--v: " + d.file("v.npy") + ": 3 axes, but 2 in --q"));
  const axes one_head = {.batch = false, .heads = false};
  CHECK(contains(test::refusal([&] {
                   read_array_like("--expect", d.file("v.npy"), one_head, tool::layout_of(one_head, 1, 4, 1, 2));
                 }),
                 "its shape is (4, 1, 2), not (4, 2)"));
}

TEST_CASE("a tensor is named behind its file") {
  const directory d;
  const std::string q = R"({"q":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                        R"("b.npy":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})";
  put(d.file("a.safetensors"), test::safetensors(q, std::string(4, '\0')));
  CHECK(tool::read_array(d.file("a.safetensors:q")).shape.front() == 1);
  CHECK(tool::read_array(d.file("a.safetensors:b.npy")).shape.front() == 0);
  CHECK(contains(test::refusal([&] { tool::read_array(d.file("a.safetensors")); }), "name one of its tensors"));
  CHECK(contains(test::refusal([&] { tool::read_array(d.file("a.safetensors:")); }), "no tensor '', but"));
  CHECK(contains(test::refusal([&] { tool::read_array(d.file("b.safetensors:q")); }), "b.safetensors:q: No such file"));
}

TEST_CASE("a file may have a colon in its name, behind .safetensors too") {
  const directory d;
  const std::string q = R"({"x.safetensors:q":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::string tensors = test::safetensors(q, std::string(4, '\0'));
  const auto reads = [](const std::string& source) { return tool::read_array(source).shape.front() == 1; };
  put(d.file("1:2.safetensors"), tensors);
  CHECK(reads(d.file("1:2.safetensors:x.safetensors:q")));
  std::filesystem::create_directory(d.file("of.safetensors:1"));
  put(d.file("of.safetensors:1/a.safetensors"), tensors);
  CHECK(reads(d.file("of.safetensors:1/a.safetensors:x.safetensors:q")));
  std::filesystem::create_directory(d.file("folder.safetensors"));
  put(d.file("folder.safetensors/a.safetensors"), tensors);
  CHECK(reads(d.file("folder.safetensors/a.safetensors:x.safetensors:q")));
  // What is there goes before a tensor of that name.
  put(d.file("a.safetensors"), test::safetensors("{}", ""));
  for (const char* name : {"1:2.npy", "a.safetensors:b.npy", "a.safetensors.npy", ":"}) {
    tool::write_npy(d.file(name), std::vector<std::int64_t>{1}, std::vector{1.0f});
    CHECK(reads(d.file(name)));
  }
}
