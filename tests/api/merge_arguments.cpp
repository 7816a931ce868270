/// Every bad argument of a merge: the code, the name of the argument, and that nothing was written.

#include <climits>
#include <functional>
#include <string>
#include <string_view>

#include "support/context.hpp"
#include "support/require.hpp"
#include "support/tensor.hpp"
#include "tril/merge.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// A good merge of three parts, to be spoiled.
struct call {
  float_tensor part_out = float_tensor({6, 4, 3, 5}, {}, 0), part_lse = float_tensor({6, 4, 3, 1}, {}, 0);
  float_tensor out = float_tensor({2, 4, 3, 5}, {}, canary), lse = float_tensor({2, 4, 3, 1}, {}, canary);
  const void* out_of[3];
  const float* lse_of[3];
  tril_merge_args args = TRIL_MERGE_ARGS_INIT;
  std::uint64_t unknown = 0;  // what a newer header may have behind args

  call() {
    for (const int i : {0, 1, 2}) {
      out_of[i] = &part_out.at(2 * i, 0, 0, 0);
      lse_of[i] = &part_lse.at(2 * i, 0, 0, 0);
    }
    args.out_layout = out.layout();
    args.lse_layout = lse.layout();
    args.parts = 3;
    args.part_out = out_of;
    args.part_lse = lse_of;
    args.out = out.data();
    args.lse = lse.data();
  }
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  bool nothing_was_written() const {
    const auto nowhere = [](std::int64_t, std::int64_t) { return false; };
    for (const float_tensor* t : {&part_out, &part_lse})
      for (const float x : t->elements())
        if (x != 0.0f) return false;
    return out.holds_fill_except(nowhere) && lse.holds_fill_except(nowhere);
  }
};
static_assert(offsetof(call, unknown) == offsetof(call, args) + sizeof(tril_merge_args));

struct bad {
  std::string argument;  // what the message begins with
  std::function<void(call&)> spoil;
  tril_code code = TRIL_INVALID_ARGUMENT;
};

const float* shifted(const void* p, std::ptrdiff_t bytes) {
  return reinterpret_cast<const float*>(static_cast<const std::byte*>(p) + bytes);
}

std::vector<bad> bad_merges() {
  std::vector<bad> all = {
      {"args:", [](call& c) { c.args.struct_size = 0; }},
      {"args:", [](call& c) { --c.args.struct_size; }},
      {"args:", [](call& c) { c.args.struct_size += sizeof c.unknown, c.unknown = 1; }, TRIL_UNSUPPORTED},
      {"parts:", [](call& c) { c.args.parts = 0; }},
      {"parts:", [](call& c) { c.args.parts = -1; }},
      {"part_out: null", [](call& c) { c.args.part_out = nullptr; }},
      {"part_lse: null", [](call& c) { c.args.part_lse = nullptr; }},
      {"part_out: null", [](call& c) { c.out_of[2] = nullptr; }},
      {"part_lse: null", [](call& c) { c.lse_of[0] = nullptr; }},
      {"part_out: not aligned", [](call& c) { c.out_of[1] = shifted(c.out_of[1], 2); }},
      {"part_lse: not aligned", [](call& c) { c.lse_of[1] = shifted(c.lse_of[1], 1); }},
      {"out: null", [](call& c) { c.args.out = nullptr; }},
      {"lse: null", [](call& c) { c.args.lse = nullptr; }},
      {"out: not aligned", [](call& c) { c.args.out = const_cast<float*>(shifted(c.args.out, 2)); }},
      {"lse: not aligned", [](call& c) { c.args.lse = const_cast<float*>(shifted(c.args.lse, 3)); }},
      {"lse: overlaps out", [](call& c) { c.args.lse = c.out.data() + 7; }},
      // A result may be a part, but not a piece of one, nor of the other kind.
      {"out: overlaps part_out", [](call& c) { c.args.out = const_cast<float*>(shifted(c.out_of[1], 4)); }},
      {"out: overlaps part_out", [](call& c) { c.args.out = const_cast<float*>(shifted(c.out_of[1], -20)); }},
      {"out: overlaps part_lse", [](call& c) { c.args.out = const_cast<float*>(c.lse_of[0]); }},
      {"lse: overlaps part_out", [](call& c) { c.args.lse = const_cast<float*>(shifted(c.out_of[2], 0)); }},
      {"lse: overlaps part_lse", [](call& c) { c.args.lse = const_cast<float*>(c.lse_of[1]) + 1; }},
  };
  for (const bool of_lse : {false, true}) {
    const std::string name = of_lse ? "lse:" : "out:";
    const auto add = [&](auto change) {
      all.push_back({name, [=](call& c) { change(of_lse ? c.args.lse_layout : c.args.out_layout); }});
    };
    add([](tril_layout& l) { l.dtype = 0; });
    add([](tril_layout& l) { l.reserved = 1; });
    for (const int axis : {0, 1, 2, 3}) {
      add([=](tril_layout& l) { l.extents[axis] = -1; });
      add([=](tril_layout& l) { l.extents[axis] = INT64_MAX; });
    }
    for (const int axis : {0, 1, 2}) {
      add([=](tril_layout& l) { l.strides[axis] = 0; });
      add([=](tril_layout& l) { l.strides[axis] = INT64_MAX; });
    }
    add([](tril_layout& l) { l.extents[3] = 1025; });
  }
  for (const int axis : {0, 1, 2}) all.push_back({"lse:", [=](call& c) { ++c.args.lse_layout.extents[axis]; }});
  all.push_back({"lse:", [](call& c) { c.args.lse_layout.extents[3] = 2; }});
  return all;
}

}  // namespace

TEST_CASE("A bad merge is refused by the name of what is wrong") {
  const context ctx = context_under_test();
  for (const bad& b : bad_merges()) {
    call c;
    b.spoil(c);
    const tril_status s = tril_merge(ctx.raw(), &c.args);
    INFO("expected " << b.code << " \"" << b.argument << " ...\", got " << s.code << " \"" << s.message << '"');
    CHECK(s.code == b.code);
    CHECK(std::string_view(s.message).starts_with(b.argument));
    REQUIRE(c.nothing_was_written());
  }
  call c;
  CHECK(std::string_view(tril_merge(nullptr, &c.args).message).starts_with("context: null"));
  CHECK(std::string_view(tril_merge(ctx.raw(), nullptr).message).starts_with("args: null"));
  CHECK(c.nothing_was_written());
  c.args.struct_size += sizeof c.unknown;
  require(status(tril_merge(ctx.raw(), &c.args)));
  CHECK_FALSE(c.nothing_was_written());
}

TEST_CASE("As many lse as outputs must be merged") {
  const context ctx = context_under_test();
  const call c;
  const status s =
      merge(ctx, {c.out_of, 3}, {c.lse_of, 2}, {c.args.out, c.args.out_layout}, {c.args.lse, c.args.lse_layout});
  CHECK(s.code() == code::invalid_argument);
  CHECK(std::string_view(s.message()).starts_with("parts:"));
  CHECK(c.nothing_was_written());
}
