#include "inputs.hpp"

#include <bit>
#include <cmath>
#include <set>

#include "support/catch.hpp"

using namespace tril;
using tool::axes, tool::make_inputs;

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
}
