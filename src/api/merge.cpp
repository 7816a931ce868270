#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "api/context.hpp"
#include "api/layout.hpp"
#include "api/sized.hpp"
#include "numeric/environment.hpp"
#include "run/kv_address.hpp"

using namespace tril;
using api::failure;

namespace {

/// The result may be a part, element for element, because a row is read before it is written; it may touch
/// no part in any other way.
tril_status check_parts(const tril_merge_args& args) {
  const api::placed out = {"out", args.out, &args.out_layout}, lse = {"lse", args.lse, &args.lse_layout};
  if (const tril_status s = api::check_pointer("out", args.out_layout, args.out); s.code != TRIL_OK) return s;
  if (const tril_status s = api::check_pointer("lse", args.lse_layout, args.lse); s.code != TRIL_OK) return s;
  if (const tril_status s = api::check_disjoint(lse, out); s.code != TRIL_OK) return s;
  for (std::int64_t i = 0; i < args.parts; ++i) {
    const api::placed part_out = {"part_out", args.part_out[i], &args.out_layout};
    const api::placed part_lse = {"part_lse", args.part_lse[i], &args.lse_layout};
    for (const api::placed& part : {part_out, part_lse}) {
      if (const tril_status s = api::check_pointer(part.name, *part.layout, part.data); s.code != TRIL_OK) return s;
      for (const api::placed& result : {out, lse})
        if (part.data != result.data || part.layout != result.layout)
          if (const tril_status s = api::check_disjoint(result, part); s.code != TRIL_OK) return s;
    }
  }
  return api::ok();
}

tril_status check(const tril_merge_args& args) {
  if (args.parts < 1) return failure(TRIL_INVALID_ARGUMENT, "parts: %" PRId64 ", must be at least 1", args.parts);
  if (args.part_out == nullptr) return failure(TRIL_INVALID_ARGUMENT, "part_out: null");
  if (args.part_lse == nullptr) return failure(TRIL_INVALID_ARGUMENT, "part_lse: null");
  if (const tril_status s = api::check_layout("out", args.out_layout, api::access::write); s.code != TRIL_OK) return s;
  if (const tril_status s = api::check_layout("lse", args.lse_layout, api::access::write); s.code != TRIL_OK) return s;
  constexpr const char* axis[] = {"batch", "tokens", "heads"};
  for (int i = 0; i < 3; ++i)
    if (args.lse_layout.extents[i] != args.out_layout.extents[i])
      return failure(TRIL_INVALID_ARGUMENT, "lse: %s %" PRId64 " is not out's %" PRId64, axis[i],
                     args.lse_layout.extents[i], args.out_layout.extents[i]);
  if (args.lse_layout.extents[3] != 1) return failure(TRIL_INVALID_ARGUMENT, "lse: dim must be 1");
  return check_parts(args);
}

void merge_row(const contract::kernel_table& kernels, const tril_merge_args& args, std::int64_t sequence,
               std::int64_t token, std::int64_t head) {
  const auto out_at = [&](auto* data) { return run::address(data, args.out_layout, sequence, token, head); };
  const auto lse_at = [&](auto* data) { return run::address(data, args.lse_layout, sequence, token, head); };
  const auto bytes = [](auto* p) { return reinterpret_cast<const std::byte*>(p); };
  const auto columns = static_cast<std::size_t>(args.out_layout.extents[3]);
  float joined[contract::max_dim];  // not in the result, which may be a part that is still to be read
  float joined_lse;
  std::memcpy(joined, out_at(bytes(args.part_out[0])), columns * sizeof(float));
  std::memcpy(&joined_lse, lse_at(bytes(args.part_lse[0])), sizeof(float));
  for (std::int64_t i = 1; i < args.parts; ++i) {
    float lse;
    std::memcpy(&lse, lse_at(bytes(args.part_lse[i])), sizeof(float));
    kernels.merge({joined, reinterpret_cast<const float*>(out_at(bytes(args.part_out[i]))), joined_lse, lse, joined,
                   &joined_lse, static_cast<std::int32_t>(columns)});
  }
  std::memcpy(out_at(static_cast<std::byte*>(args.out)), joined, columns * sizeof(float));
  std::memcpy(lse_at(reinterpret_cast<std::byte*>(args.lse)), &joined_lse, sizeof(float));
}

}  // namespace

tril_status tril_merge(const tril_context* context, const tril_merge_args* callers) {
  return api::without_exceptions([&] {
    if (context == nullptr) return failure(TRIL_INVALID_ARGUMENT, "context: null");
    tril_merge_args args = TRIL_MERGE_ARGS_INIT;
    if (const tril_status s = api::read_sized(callers, "args", sizeof args, args); s.code != TRIL_OK) return s;
    if (const tril_status s = check(args); s.code != TRIL_OK) return s;

    const std::int64_t *extents = args.out_layout.extents, rows = extents[0] * extents[1];
    constexpr std::int64_t rows_per_task = 64;
    const auto task = [&](std::int64_t i) {
      const numeric::environment standard;
      for (std::int64_t row = i * rows_per_task; row < std::min(rows, (i + 1) * rows_per_task); ++row)
        for (std::int64_t head = 0; head < extents[2]; ++head)
          merge_row(*context->engine->kernels, args, row / extents[1], row % extents[1], head);
    };
    const std::int64_t tasks = (rows + rows_per_task - 1) / rows_per_task;
    if (tasks > 0 && !context->engine->executor->parallel_for(tasks, task))
      return failure(TRIL_EXECUTOR_FAILED, "executor: did not run every task exactly once");
    return api::ok();
  });
}
