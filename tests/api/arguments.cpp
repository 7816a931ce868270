/// Every bad argument of the attention calls: the code, the name of the argument, and that nothing was written.

#include <climits>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "support/require.hpp"
#include "support/verify.hpp"
#include "tril/cost.hpp"

using namespace tril;
using namespace tril::test;

namespace {

constexpr std::int64_t batch = 2, rows = 3, keys = 5, q_heads = 4, kv_heads = 2, dim = 8, value_dim = 6;

/// A struct as a newer header than the library's would have it.
template <class T>
struct larger {
  T known;
  std::uint64_t unknown = 0;
};

/// A good call through the C interface, to be spoiled.
struct call {
  workload w = workload({.batch = batch,
                         .rows = rows,
                         .keys = keys,
                         .q_heads = q_heads,
                         .kv_heads = kv_heads,
                         .dim = dim,
                         .value_dim = value_dim,
                         .q_lengths = {3, 2},
                         .kv_lengths = {5, 4},
                         .query_offset = {1, 0}},
                        seed());
  guarded_memory workspace = guarded_memory(1 << 20, touching::end, poison);
  larger<tril_kv_layout> kv = {TRIL_KV_LAYOUT_INIT};
  larger<tril_attention_args> args = {TRIL_ATTENTION_ARGS_INIT};
  larger<tril_attention_data> data = {TRIL_ATTENTION_DATA_INIT};

  call() {
    kv.known.k = w.k.layout();
    kv.known.v = w.v.layout();
    kv.known.lengths = w.kv_lengths.data();
    args.known.q = w.q.layout();
    args.known.out = w.out.layout();
    args.known.lse = w.lse.layout();
    args.known.kv = &kv.known;
    args.known.q_lengths = w.q_lengths.data();
    args.known.query_offset = w.query_offset.data();
    data.known.q = w.q.data();
    data.known.k = w.k.data();
    data.known.v = w.v.data();
    data.known.out = w.out.data();
    data.known.lse = w.lse.data();
    data.known.workspace = workspace.data();
    data.known.workspace_bytes = workspace.size();
  }
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  /// All tensors anew, of sizes that no memory holds.
  void resize(std::int64_t new_batch, std::int64_t new_rows, std::int64_t new_keys, std::int64_t heads) {
    args.known.q = tril_bthd(TRIL_F32, new_batch, new_rows, heads, dim);
    args.known.out = tril_bthd(TRIL_F32, new_batch, new_rows, heads, value_dim);
    args.known.lse = tril_bthd(TRIL_F32, new_batch, new_rows, heads, 1);
    kv.known.k = tril_bthd(TRIL_F32, new_batch, new_keys, heads, dim);
    kv.known.v = tril_bthd(TRIL_F32, new_batch, new_keys, heads, value_dim);
    kv.known.lengths = args.known.q_lengths = args.known.query_offset = nullptr;
  }

  bool nothing_was_written() const {
    const auto nowhere = [](std::int64_t, std::int64_t) { return false; };
    if (!w.out.holds_fill_except(nowhere) || !w.lse.holds_fill_except(nowhere)) return false;
    for (const std::uint32_t word : workspace.reachable_words())
      if (word != poison) return false;
    return true;
  }
};

struct bad {
  std::string argument;  // what the message begins with
  std::function<void(call&)> spoil;
  tril_code code = TRIL_INVALID_ARGUMENT;
};

/// A tensor's layout in a call.
struct tensor_name {
  const char* name;
  tril_layout& (*layout)(call&);
};
const tensor_name tensors[] = {{"q", [](call& c) -> tril_layout& { return c.args.known.q; }},
                               {"k", [](call& c) -> tril_layout& { return c.kv.known.k; }},
                               {"v", [](call& c) -> tril_layout& { return c.kv.known.v; }},
                               {"out", [](call& c) -> tril_layout& { return c.args.known.out; }},
                               {"lse", [](call& c) -> tril_layout& { return c.args.known.lse; }}};

/// Everything that can be wrong with the shapes and options.
std::vector<bad> bad_args() {
  std::vector<bad> all;
  for (const tensor_name& t : tensors) {
    const std::string name = std::string(t.name) + ":";
    const auto add = [&](auto change) { all.push_back({name, [=](call& c) { change(t.layout(c)); }}); };
    for (const std::int32_t dtype : {0, 2, -1, INT32_MAX}) add([=](tril_layout& l) { l.dtype = dtype; });
    add([](tril_layout& l) { l.reserved = 1; });
    for (const int axis : {0, 1, 2, 3}) {
      add([=](tril_layout& l) { l.extents[axis] = -1; });
      add([=](tril_layout& l) { l.extents[axis] = INT64_MIN; });
      add([=](tril_layout& l) { l.extents[axis] = INT64_MAX; });
    }
    for (const int axis : {2, 3}) add([=](tril_layout& l) { l.extents[axis] = 0; });
    add([](tril_layout& l) { l.extents[3] = 1025; });
    if (t.layout != tensors[4].layout)
      for (const std::int64_t stride : {0, 2, -1}) add([=](tril_layout& l) { l.strides[3] = stride; });
    for (const int axis : {0, 1, 2}) add([=](tril_layout& l) { l.strides[axis] = INT64_MAX; });
    for (const int axis : {0, 1, 2}) add([=](tril_layout& l) { l.strides[axis] = INT64_MIN; });
    if (t.layout == tensors[0].layout) continue;
    // What has to agree with another tensor: each with the first that it can disagree with.
    const bool is_kv = t.layout == tensors[1].layout || t.layout == tensors[2].layout;
    add([](tril_layout& l) { ++l.extents[0]; });
    if (t.layout != tensors[1].layout) add([](tril_layout& l) { ++l.extents[1]; });
    if (t.layout != tensors[1].layout) add([](tril_layout& l) { ++l.extents[2]; });
    if (t.layout != tensors[2].layout) add([](tril_layout& l) { ++l.extents[3]; });
    if (is_kv) continue;
    for (const int axis : {0, 1, 2}) add([=](tril_layout& l) { l.strides[axis] = 0; });
    add([](tril_layout& l) { l.strides[0] = l.strides[1]; });
    add([](tril_layout& l) { l.strides[2] = 1, l.strides[1] = 1, l.strides[0] = 1; });
  }
  for (const std::int64_t k_heads : {3, 8})
    all.push_back({"k:", [=](call& c) { c.kv.known.k.extents[2] = c.kv.known.v.extents[2] = k_heads; }});

  constexpr std::int64_t two_to_30 = std::int64_t{1} << 30;
  all.push_back({"q:", [](call& c) { c.resize(1, two_to_30, two_to_30, 1); }});
  all.push_back({"q:", [](call& c) { c.resize(1 << 20, 1 << 20, 1 << 20, 1 << 20); }});
  all.push_back({"q:", [](call& c) { c.resize(32, two_to_30, 1, 1); }});
  all.push_back({"q:", [](call& c) { c.resize(1, std::int64_t{1} << 62, std::int64_t{1} << 62, 1); }});
  all.push_back({"k:", [](call& c) { c.resize(2 * two_to_30, 0, 1, 1); }});

  for (const float scale : {quiet_nan, infinity, -infinity})
    all.push_back({"scale:", [=](call& c) { c.args.known.flags = TRIL_SCALE_SET, c.args.known.scale = scale; }});
  for (const std::int64_t bound : {std::int64_t{-2}, std::int64_t{INT64_MIN}}) {
    all.push_back({"window_left:", [=](call& c) { c.args.known.window_left = bound; }});
    all.push_back({"window_right:", [=](call& c) { c.args.known.window_right = bound; }});
  }
  for (const std::int32_t length : {-1, INT32_MIN, 6, INT32_MAX}) {
    all.push_back({"q_lengths[1]:", [=](call& c) { c.w.q_lengths[1] = length; }});
    all.push_back({"kv_lengths[1]:", [=](call& c) { c.w.kv_lengths[1] = length; }});
    all.push_back({"kv_lengths[0]:", [=](call& c) { c.w.kv_lengths[0] = length; }});
  }

  all.push_back({"args:", [](call& c) { c.args.known.struct_size = 0; }});
  all.push_back({"args:", [](call& c) { --c.args.known.struct_size; }});
  all.push_back({"kv:", [](call& c) { c.args.known.kv = nullptr; }});
  all.push_back({"kv:", [](call& c) { c.kv.known.struct_size = 0; }});
  all.push_back({"kv:", [](call& c) { --c.kv.known.struct_size; }});
  all.push_back(
      {"args:", [](call& c) { c.args.known.struct_size = sizeof c.args, c.args.unknown = 1; }, TRIL_UNSUPPORTED});
  all.push_back({"kv:", [](call& c) { c.kv.known.struct_size = sizeof c.kv, c.kv.unknown = std::uint64_t{1} << 63; },
                 TRIL_UNSUPPORTED});
  for (const std::uint32_t flag : {4u, 1u << 31})
    all.push_back({"flags:", [=](call& c) { c.args.known.flags |= flag; }, TRIL_UNSUPPORTED});
  return all;
}

/// Everything that can be wrong with the pointers.
std::vector<bad> bad_data() {
  std::vector<bad> all;
  using pointers = std::pair<const char*, std::function<const void*&(call&)>>;
  const auto input = [](const void* tril_attention_data::*p) {
    return [=](call& c) -> const void*& { return c.data.known.*p; };
  };
  const pointers inputs[] = {{"q", input(&tril_attention_data::q)},
                             {"k", input(&tril_attention_data::k)},
                             {"v", input(&tril_attention_data::v)}};
  const auto shifted = [](const void* p, std::ptrdiff_t bytes) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(p)) + bytes;
  };
  const auto cache_line_of = [](const void* p) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) & ~std::uintptr_t{63});
  };
  for (const auto& [name, pointer] : inputs) {
    const auto at = pointer;
    all.push_back({name + std::string(": null"), [=](call& c) { at(c) = nullptr; }});
    all.push_back({name + std::string(": not aligned"), [=](call& c) { at(c) = shifted(at(c), -2); }});
    // The same, a part of it, and one that holds it; forwards and backwards.
    for (const std::ptrdiff_t bytes : {0, 4, -4, 64}) {
      const std::string overlap = std::string(": overlaps ") + name;
      all.push_back({"out" + overlap, [=](call& c) { c.data.known.out = shifted(at(c), bytes); }});
      all.push_back(
          {"lse" + overlap, [=](call& c) { c.data.known.lse = reinterpret_cast<float*>(shifted(at(c), bytes)); }});
    }
    all.push_back({"workspace: overlaps", [=](call& c) { c.data.known.workspace = cache_line_of(at(c)); }});
  }
  all.push_back({"out: null", [](call& c) { c.data.known.out = nullptr; }});
  all.push_back({"out: not aligned", [=](call& c) { c.data.known.out = shifted(c.data.known.out, -1); }});
  all.push_back({"lse: null", [](call& c) { c.data.known.lse = nullptr; }});
  all.push_back({"lse: not aligned",
                 [=](call& c) { c.data.known.lse = reinterpret_cast<float*>(shifted(c.data.known.lse, -2)); }});
  all.push_back({"lse:", [](call& c) { c.args.known.lse = {}; }});
  for (const std::ptrdiff_t bytes : {0, 4, 100})
    all.push_back({"lse: overlaps out",
                   [=](call& c) { c.data.known.lse = reinterpret_cast<float*>(shifted(c.data.known.out, bytes)); }});
  all.push_back({"workspace: overlaps", [=](call& c) { c.data.known.workspace = cache_line_of(c.data.known.out); }});
  all.push_back({"workspace: overlaps", [=](call& c) { c.data.known.workspace = cache_line_of(c.data.known.lse); }});
  for (const std::ptrdiff_t bytes : {1, 4, 32})
    all.push_back({"workspace: not 64-byte aligned",
                   [=](call& c) { c.data.known.workspace = shifted(c.data.known.workspace, bytes); }});
  all.push_back({"workspace: 0 bytes", [](call& c) { c.data.known.workspace_bytes = 0; }});
  all.push_back({"data:", [](call& c) { c.data.known.struct_size = 0; }});
  all.push_back({"data:", [](call& c) { --c.data.known.struct_size; }});
  all.push_back(
      {"data:", [](call& c) { c.data.known.struct_size = sizeof c.data, c.data.unknown = 1; }, TRIL_UNSUPPORTED});
  return all;
}

void check(const tril_status& s, const bad& b) {
  INFO("expected " << b.code << " \"" << b.argument << " ...\", got " << s.code << " \"" << s.message << '"');
  CHECK(s.code == b.code);
  CHECK(std::string_view(s.message).starts_with(b.argument));
}

}  // namespace

TEST_CASE("A bad shape or option is refused by every call that takes one") {
  const context ctx = context_under_test();
  for (const bad& b : bad_args()) {
    call c;
    b.spoil(c);
    tril_plan* plan = reinterpret_cast<tril_plan*>(&c);
    check(tril_plan_create(ctx.raw(), &c.args.known, &plan), b);
    CHECK(plan == nullptr);
    tril_cost cost = TRIL_COST_INIT;
    check(tril_attention_cost(&c.args.known, &cost), b);
    CHECK(cost.flops == 0);
    check(tril_attention(ctx.raw(), &c.args.known, &c.data.known), b);
    REQUIRE(c.nothing_was_written());
  }
}

TEST_CASE("A bad pointer is refused by every call that runs") {
  const context ctx = context_under_test();
  for (const bad& b : bad_data()) {
    call c;
    b.spoil(c);
    tril_plan* plan = nullptr;
    require(status(tril_plan_create(ctx.raw(), &c.args.known, &plan)));
    check(tril_plan_run(plan, &c.data.known), b);
    check(tril_plan_run_task(plan, 0, 0, 0, &c.data.known), b);
    tril_plan_destroy(plan);
    check(tril_attention(ctx.raw(), &c.args.known, &c.data.known), b);
    REQUIRE(c.nothing_was_written());
  }
}

TEST_CASE("A workspace that lacks one byte is refused") {
  const context ctx = context_under_test();
  call c;
  tril_plan* plan = nullptr;
  require(status(tril_plan_create(ctx.raw(), &c.args.known, &plan)));
  c.data.known.workspace_bytes = tril_plan_workspace_bytes(plan) - 1;
  check(tril_plan_run(plan, &c.data.known), {"workspace:", nullptr});
  CHECK(c.nothing_was_written());
  ++c.data.known.workspace_bytes;
  CHECK(tril_plan_run(plan, &c.data.known).code == TRIL_OK);
  tril_plan_destroy(plan);
}

TEST_CASE("Null structs and handles are refused by name") {
  const context ctx = context_under_test();
  call c;
  tril_plan* plan = nullptr;
  const bad no_context = {"context: null", nullptr}, no_args = {"args: null", nullptr},
            no_data = {"data: null", nullptr}, no_plan = {"plan: null", nullptr};
  check(tril_attention(nullptr, &c.args.known, &c.data.known), no_context);
  check(tril_attention(ctx.raw(), nullptr, &c.data.known), no_args);
  check(tril_attention(ctx.raw(), &c.args.known, nullptr), no_data);
  check(tril_plan_create(nullptr, &c.args.known, &plan), no_context);
  check(tril_plan_create(ctx.raw(), nullptr, &plan), no_args);
  check(tril_plan_create(ctx.raw(), &c.args.known, nullptr), no_plan);
  check(tril_plan_run(nullptr, &c.data.known), no_plan);
  check(tril_plan_run_task(nullptr, 0, 0, 0, &c.data.known), no_plan);
  tril_cost cost = TRIL_COST_INIT;
  check(tril_attention_cost(nullptr, &cost), no_args);
  check(tril_attention_cost(&c.args.known, nullptr), {"cost: null", nullptr});
  cost.struct_size = 0;
  check(tril_attention_cost(&c.args.known, &cost), {"cost:", nullptr});
  CHECK(tril_plan_workspace_bytes(nullptr) == 0);
  CHECK(tril_plan_stages(nullptr) == 0);
  CHECK(tril_plan_tasks(nullptr, 0) == 0);
  tril_plan_destroy(nullptr);
  CHECK(c.nothing_was_written());
}

TEST_CASE("A task that is not there is refused") {
  const context ctx = context_under_test(2);
  call c;
  tril_plan* plan = nullptr;
  require(status(tril_plan_create(ctx.raw(), &c.args.known, &plan)));
  const std::int64_t stages = tril_plan_stages(plan), tasks = tril_plan_tasks(plan, 0);
  const auto run = [&](std::int64_t stage, std::int64_t task, std::int32_t worker) {
    return tril_plan_run_task(plan, stage, task, worker, &c.data.known);
  };
  for (const std::int64_t stage : {std::int64_t{-1}, stages, std::int64_t{INT64_MAX}})
    check(run(stage, 0, 0), {"stage:", nullptr});
  for (const std::int64_t task : {std::int64_t{-1}, tasks, std::int64_t{INT64_MAX}})
    check(run(0, task, 0), {"task:", nullptr});
  for (const std::int32_t worker : {-1, 2, INT32_MAX}) check(run(0, 0, worker), {"worker:", nullptr});
  c.data.known.workspace = nullptr;
  check(run(0, 0, 0), {"workspace:", nullptr});
  CHECK(c.nothing_was_written());
  tril_plan_destroy(plan);
}

TEST_CASE("Structs of a newer header are taken where they hold nothing new") {
  const context ctx = context_under_test();
  call c;
  c.args.known.struct_size = sizeof c.args;
  c.kv.known.struct_size = sizeof c.kv;
  c.data.known.struct_size = sizeof c.data;
  const tril_status s = tril_attention(ctx.raw(), &c.args.known, &c.data.known);
  require(status(s));
  CHECK(std::string_view(s.message).empty());
  CHECK_FALSE(c.nothing_was_written());
}

TEST_CASE("Structs that end early have the defaults for the rest") {
  // What lies behind the end is never read: it would be refused.
  const context ctx = context_under_test();
  for (const std::size_t end : {offsetof(tril_attention_args, q_lengths), offsetof(tril_attention_args, query_offset),
                                offsetof(tril_attention_args, flags), offsetof(tril_attention_args, window_left),
                                offsetof(tril_attention_args, window_right), sizeof(tril_attention_args)}) {
    INFO(end);
    call c;
    c.args.known.struct_size = end;
    c.args.known.lse = {};
    c.data.known.struct_size = offsetof(tril_attention_data, lse);
    c.data.known.lse = reinterpret_cast<float*>(8);
    c.data.known.workspace = reinterpret_cast<void*>(1);
    c.kv.known.struct_size = offsetof(tril_kv_layout, lengths);
    c.kv.known.lengths = reinterpret_cast<const std::int32_t*>(8);
    const tril_attention_args whole = c.args.known;
    tril_attention_args defaults = TRIL_ATTENTION_ARGS_INIT;
    std::memset(reinterpret_cast<char*>(&c.args.known) + end, 0xEE, sizeof(tril_attention_args) - end);
    require(status(tril_attention(ctx.raw(), &c.args.known, &c.data.known)));
    const std::vector<float> early = c.w.out.elements();

    std::memcpy(&defaults, &whole, end);
    defaults.struct_size = sizeof defaults;
    c.data.known.struct_size = sizeof(tril_attention_data);
    c.data.known.lse = nullptr;
    c.data.known.workspace = nullptr;
    c.kv.known.struct_size = sizeof(tril_kv_layout);
    c.kv.known.lengths = nullptr;
    require(status(tril_attention(ctx.raw(), &defaults, &c.data.known)));
    CHECK(std::memcmp(early.data(), c.w.out.elements().data(), sizeof(float) * early.size()) == 0);
  }
}

TEST_CASE("What is not in use is not checked") {
  const context ctx = context_under_test();
  call c;
  c.args.known.scale = quiet_nan;  // without TRIL_SCALE_SET
  c.data.known.workspace = nullptr;
  c.data.known.workspace_bytes = 1;
  require(status(tril_attention(ctx.raw(), &c.args.known, &c.data.known)));
  // A query offset may be anything.
  c.w.query_offset[0] = INT32_MIN;
  c.w.query_offset[1] = INT32_MAX;
  require(status(tril_attention(ctx.raw(), &c.args.known, &c.data.known)));
}

TEST_CASE("Arrays of the C++ interface must have an entry per sequence") {
  const context ctx = context_under_test();
  const workload w({.batch = batch, .rows = rows, .keys = keys}, seed());
  const std::int32_t one[] = {1}, three[] = {1, 1, 1};
  for (const std::span<const std::int32_t> entries : {std::span<const std::int32_t>(one), {three}}) {
    problem lengths = w.problem(), kv_lengths = w.problem(), offset = w.problem();
    lengths.visibility.q_lengths = entries;
    kv_lengths.kv.lengths = entries;
    offset.visibility.query_offset = entries;
    CHECK(std::string_view(plan(ctx, lengths).status().message()).starts_with("q_lengths:"));
    CHECK(std::string_view(plan(ctx, kv_lengths).status().message()).starts_with("kv_lengths:"));
    CHECK(std::string_view(plan(ctx, offset).status().message()).starts_with("query_offset:"));
    CHECK(cost_of(offset).status.code() == code::invalid_argument);
  }
}
