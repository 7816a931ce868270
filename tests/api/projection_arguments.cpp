/// Every bad argument of a projection: the code, the name of the argument, and that nothing was written.

#include <climits>
#include <functional>
#include <string>
#include <string_view>

#include "support/context.hpp"
#include "support/require.hpp"
#include "support/tensor.hpp"
#include "tril/projection.hpp"

using namespace tril;
using namespace tril::test;

namespace {

template <class Call>
struct bad {
  std::string argument;  // what the message begins with
  std::function<void(Call&)> spoil;
  tril_code code = TRIL_INVALID_ARGUMENT;
};

template <class T>
T* shifted(T* p, std::ptrdiff_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(bytes));
}

/// A good weight, to be spoiled.
struct making {
  std::vector<float> weight = std::vector<float>(5 * 6), bias = std::vector<float>(5);
  tril_projection_args args = TRIL_PROJECTION_ARGS_INIT;
  std::uint64_t unknown = 0;  // what a newer header may have behind args

  making() {
    args.in = 6;
    args.out = 5;
    args.weight = weight.data();
    args.bias = bias.data();
  }
};
static_assert(offsetof(making, unknown) == offsetof(making, args) + sizeof(tril_projection_args));

const std::vector<bad<making>> bad_weights = {
    {"args:", [](making& m) { m.args.struct_size = 0; }},
    {"args:", [](making& m) { --m.args.struct_size; }},
    {"args:", [](making& m) { m.args.struct_size = offsetof(tril_projection_args, weight_strides); }},
    {"args:", [](making& m) { m.args.struct_size += sizeof m.unknown, m.unknown = 1; }, TRIL_UNSUPPORTED},
    {"in: 0", [](making& m) { m.args.in = 0; }},
    {"in: -1", [](making& m) { m.args.in = -1; }},
    {"in: 16777217", [](making& m) { m.args.in = (1 << 24) + 1; }},
    {"in:", [](making& m) { m.args.in = INT64_MAX; }},
    {"out: 0", [](making& m) { m.args.out = 0; }},
    {"out: -5", [](making& m) { m.args.out = -5; }},
    {"out: 16777217", [](making& m) { m.args.out = (1 << 24) + 1; }},
    {"out:", [](making& m) { m.args.out = INT64_MIN; }},
    {"weight: null", [](making& m) { m.args.weight = nullptr; }},
    {"weight: not aligned", [](making& m) { m.args.weight = shifted(m.args.weight, 1); }},
    {"bias: not aligned", [](making& m) { m.args.bias = shifted(m.args.bias, 2); }},
    {"weight_strides:", [](making& m) { m.args.weight_strides[0] = -1; }},
    {"weight_strides:", [](making& m) { m.args.weight_strides[1] = -6; }},
    {"weight_strides:", [](making& m) { m.args.weight_strides[0] = INT64_MAX; }},
    {"weight_strides:", [](making& m) { m.args.weight_strides[1] = INT64_MAX / 4; }},
    {"weight_strides:",
     [](making& m) { m.args.weight_strides[0] = INT64_MAX / 8 * 2, m.args.weight_strides[1] = INT64_MAX / 4; }},
    {"weight: its size", [](making& m) { m.args.weight_strides[0] = INT64_MAX / 4; }},
    {"out of memory", [](making& m) { m.args.in = m.args.out = 1 << 24; }, TRIL_OUT_OF_MEMORY},
};

/// A good run, to be spoiled.
struct call {
  float_tensor x = float_tensor({2, 4, 3, 2}, {}, 0), y = float_tensor({2, 4, 1, 5}, {}, canary);
  tril_projection_data data = TRIL_PROJECTION_DATA_INIT;
  std::uint64_t unknown = 0;

  call() {
    data.x_layout = x.layout();
    data.y_layout = y.layout();
    data.x = x.data();
    data.y = y.data();
  }
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  bool nothing_was_written() const {
    for (const float value : x.elements())
      if (value != 0.0f) return false;
    return y.holds_fill_except([](std::int64_t, std::int64_t) { return false; });
  }
};
static_assert(offsetof(call, unknown) == offsetof(call, data) + sizeof(tril_projection_data));

std::vector<bad<call>> bad_runs() {
  std::vector<bad<call>> all = {
      {"data:", [](call& c) { c.data.struct_size = 0; }},
      {"data:", [](call& c) { --c.data.struct_size; }},
      {"data:", [](call& c) { c.data.struct_size += sizeof c.unknown, c.unknown = 1; }, TRIL_UNSUPPORTED},
      {"x: null", [](call& c) { c.data.x = nullptr; }},
      {"y: null", [](call& c) { c.data.y = nullptr; }},
      {"x: not aligned", [](call& c) { c.data.x = shifted(c.data.x, 2); }},
      {"y: not aligned", [](call& c) { c.data.y = shifted(c.data.y, 3); }},
      {"y: overlaps x", [](call& c) { c.data.y = const_cast<void*>(c.data.x); }},
      {"y: overlaps x", [](call& c) { c.data.y = c.x.data() + 47; }},
      {"y: overlaps x", [](call& c) { c.data.y = c.x.data() - 39; }},
      {"x: 3 heads of 1", [](call& c) { c.data.x_layout.extents[3] = 1; }},
      {"x: 2 heads of 2", [](call& c) { c.data.x_layout.extents[2] = 2; }},
      {"x:", [](call& c) { c.data.x_layout.extents[2] = INT64_MAX / 2; }},
      {"y: batch 1", [](call& c) { c.data.y_layout.extents[0] = 1; }},
      {"y: tokens 3", [](call& c) { c.data.y_layout.extents[1] = 3; }},
      {"y: heads", [](call& c) { c.data.y_layout.extents[2] = 2, c.data.y_layout.strides[2] = 100; }},
      {"y: dim 4", [](call& c) { c.data.y_layout.extents[3] = 4; }},
      {"y: its strides", [](call& c) { c.data.y_layout.strides[1] = 4; }},
      {"y: its strides", [](call& c) { c.data.y_layout.strides[0] = 0; }},
  };
  for (const bool of_y : {false, true}) {
    const auto add = [&](auto change) {
      all.push_back({of_y ? "y:" : "x:", [=](call& c) { change(of_y ? c.data.y_layout : c.data.x_layout); }});
    };
    add([](tril_layout& l) { l.dtype = 0; });
    add([](tril_layout& l) { l.reserved = 1; });
    add([](tril_layout& l) { l.strides[3] = 2; });
    for (const int axis : {0, 1, 2, 3}) {
      add([=](tril_layout& l) { l.extents[axis] = -1; });
      add([=](tril_layout& l) { l.extents[axis] = INT64_MAX; });
    }
    for (const int axis : {2, 3}) add([=](tril_layout& l) { l.extents[axis] = 0; });
    for (const int axis : {0, 1}) add([=](tril_layout& l) { l.strides[axis] = INT64_MAX; });
  }
  return all;
}

template <class Call>
void check(const bad<Call>& b, const tril_status& s) {
  INFO("expected " << b.code << " \"" << b.argument << " ...\", got " << s.code << " \"" << s.message << '"');
  CHECK(s.code == b.code);
  CHECK(std::string_view(s.message).starts_with(b.argument));
}

}  // namespace

TEST_CASE("A bad weight is refused by the name of what is wrong") {
  const context ctx = context_under_test();
  for (const bad<making>& b : bad_weights) {
    making m;
    b.spoil(m);
    auto* projection = reinterpret_cast<tril_projection*>(&m);
    check(b, tril_projection_create(ctx.raw(), &m.args, &projection));
    CHECK(projection == nullptr);
  }
  making m;
  tril_projection* projection = nullptr;
  CHECK(std::string_view(tril_projection_create(nullptr, &m.args, &projection).message).starts_with("context: null"));
  CHECK(std::string_view(tril_projection_create(ctx.raw(), nullptr, &projection).message).starts_with("args: null"));
  CHECK(std::string_view(tril_projection_create(ctx.raw(), &m.args, nullptr).message).starts_with("projection: null"));
  for (const std::size_t bytes : {sizeof m.args + sizeof m.unknown, offsetof(tril_projection_args, bias)}) {
    m.args.struct_size = bytes;
    require(status(tril_projection_create(ctx.raw(), &m.args, &projection)));
    REQUIRE(projection != nullptr);
    tril_projection_destroy(projection);
  }
  tril_projection_destroy(nullptr);
}

TEST_CASE("A bad projection of rows is refused by the name of what is wrong") {
  const context ctx = context_under_test();
  const making m;
  tril_projection* projection = nullptr;
  require(status(tril_projection_create(ctx.raw(), &m.args, &projection)));
  for (const bad<call>& b : bad_runs()) {
    call c;
    b.spoil(c);
    check(b, tril_projection_run(projection, &c.data));
    REQUIRE(c.nothing_was_written());
  }
  call c;
  CHECK(std::string_view(tril_projection_run(nullptr, &c.data).message).starts_with("projection: null"));
  CHECK(std::string_view(tril_projection_run(projection, nullptr).message).starts_with("data: null"));
  CHECK(c.nothing_was_written());
  c.data.struct_size += sizeof c.unknown;
  require(status(tril_projection_run(projection, &c.data)));
  CHECK_FALSE(c.nothing_was_written());
  tril_projection_destroy(projection);
}

TEST_CASE("What could not be made says why when it is run") {
  const float x = 0, weight = 1;
  float y = 7;
  const projection without_out(context_under_test(), {.in = 1, .weight = &weight});
  CHECK_FALSE(without_out);
  const projection without_context(context({.isa = "nonsense"}), {.in = 1, .out = 1, .weight = &weight});
  for (const auto& [p, why] : {std::pair(&without_out, "out: 0"), std::pair(&without_context, "isa:")}) {
    const status s = p->run(bthd<const float>(&x, 1, 1, 1, 1), bthd(&y, 1, 1, 1, 1));
    INFO(s.message());
    CHECK(std::string_view(s.message()).starts_with(why));
  }
  CHECK(y == 7);
}
