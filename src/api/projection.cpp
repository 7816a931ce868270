/// The projection calls of tril.h.

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <memory>

#include "api/context.hpp"
#include "api/layout.hpp"
#include "api/sized.hpp"
#include "memory/aligned.hpp"
#include "memory/workspace.hpp"
#include "numeric/environment.hpp"
#include "parallel/worker_slots.hpp"
#include "run/projection.hpp"

using namespace tril;
using api::failure;

struct tril_projection {
  std::shared_ptr<const api::engine> engine;
  run::projection work;
};

namespace {

constexpr std::int64_t max_size = std::int64_t{1} << 24;  // of `in` and `out`: their product is far from overflow

tril_status check_size(const char* name, std::int64_t size) {
  if (size >= 1 && size <= max_size) return api::ok();
  return failure(TRIL_INVALID_ARGUMENT, "%s: %" PRId64 " is not in 1 ... %" PRId64, name, size, max_size);
}

/// A float array of so many elements, whose last one must have an address.
tril_status check_array(const char* name, const float* data, std::int64_t elements) {
  if (data == nullptr) return failure(TRIL_INVALID_ARGUMENT, "%s: null", name);
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  if (first % alignof(float) != 0) return failure(TRIL_INVALID_ARGUMENT, "%s: not aligned to its elements", name);
  if (static_cast<std::uintptr_t>(elements) > (UINTPTR_MAX - first) / sizeof(float))
    return failure(TRIL_INVALID_ARGUMENT, "%s: its size overflows 64 bits", name);
  return api::ok();
}

tril_status check_weight(const tril_projection_args& args, run::weight& w) {
  if (const tril_status s = check_size("in", args.in); s.code != TRIL_OK) return s;
  if (const tril_status s = check_size("out", args.out); s.code != TRIL_OK) return s;
  const std::int64_t* strides = args.weight_strides;
  if (strides[0] < 0 || strides[1] < 0) return failure(TRIL_INVALID_ARGUMENT, "weight_strides: one is negative");
  w = {args.in, args.out, args.weight, {strides[0], strides[1]}, args.bias};
  if (w.strides[0] == 0 && w.strides[1] == 0) w.strides[0] = w.in, w.strides[1] = 1;
  std::int64_t of_out, of_in, elements;
  if (__builtin_mul_overflow(w.out - 1, w.strides[0], &of_out) ||
      __builtin_mul_overflow(w.in - 1, w.strides[1], &of_in) || __builtin_add_overflow(of_out, of_in, &elements) ||
      __builtin_add_overflow(elements, 1, &elements))
    return failure(TRIL_INVALID_ARGUMENT, "weight_strides: the weight's size overflows 64 bits");
  if (const tril_status s = check_array("weight", w.data, elements); s.code != TRIL_OK) return s;
  return w.bias == nullptr ? api::ok() : check_array("bias", w.bias, w.out);
}

tril_status check_rows(const run::projection& work, const tril_projection_data& data) {
  const tril_layout &x = data.x_layout, &y = data.y_layout;
  if (const tril_status s = api::check_layout("x", x, api::access::read, max_size); s.code != TRIL_OK) return s;
  if (const tril_status s = api::check_layout("y", y, api::access::write, max_size); s.code != TRIL_OK) return s;
  if (x.extents[2] > max_size || x.extents[2] * x.extents[3] != work.in())
    return failure(TRIL_INVALID_ARGUMENT, "x: %" PRId64 " heads of %" PRId64 " are not the projection's %" PRId64,
                   x.extents[2], x.extents[3], work.in());
  constexpr const char* axis[] = {"batch", "tokens"};
  for (int i = 0; i < 2; ++i)
    if (y.extents[i] != x.extents[i])
      return failure(TRIL_INVALID_ARGUMENT, "y: %s %" PRId64 " is not x's %" PRId64, axis[i], y.extents[i],
                     x.extents[i]);
  if (y.extents[2] != 1) return failure(TRIL_INVALID_ARGUMENT, "y: heads must be 1");
  if (y.extents[3] != work.out())
    return failure(TRIL_INVALID_ARGUMENT, "y: dim %" PRId64 " is not the projection's %" PRId64, y.extents[3],
                   work.out());
  if (const tril_status s = api::check_pointer("x", x, data.x); s.code != TRIL_OK) return s;
  if (const tril_status s = api::check_pointer("y", y, data.y); s.code != TRIL_OK) return s;
  return api::check_disjoint({"y", data.y, &y}, {"x", data.x, &x});
}

tril_status run_rows(const tril_projection& projection, const tril_projection_data* callers) {
  tril_projection_data data = TRIL_PROJECTION_DATA_INIT;
  if (const tril_status s = api::read_sized(callers, "data", sizeof data, data); s.code != TRIL_OK) return s;
  if (const tril_status s = check_rows(projection.work, data); s.code != TRIL_OK) return s;

  const std::int64_t rows = data.x_layout.extents[0] * data.x_layout.extents[1];
  if (rows == 0) return api::ok();
  const parallel::executor& executor = *projection.engine->executor;
  const run::projection& work = projection.work;
  const run::projection_cut cut = work.cut(rows, executor.threads());
  const auto workers = static_cast<int>(std::min<std::int64_t>(executor.threads(), cut.tasks));
  workspace_layout layout;
  const std::size_t shared = layout.reserve(cut.shared_bytes);
  const std::size_t scratch = layout.reserve(cut.scratch_bytes * static_cast<std::size_t>(workers));
  const aligned_bytes memory = allocate_aligned(layout.bytes());
  if (memory == nullptr) return failure(TRIL_OUT_OF_MEMORY, "scratch: no memory for %zu bytes", layout.bytes());

  const run::projected at = {data.x_layout, static_cast<const std::byte*>(data.x), data.y_layout,
                             static_cast<std::byte*>(data.y), memory.get() + shared};
  parallel::worker_slots slots(workers);
  const auto pack = [&](std::int64_t task) {
    const numeric::environment standard;
    work.pack(cut, task, at);
  };
  const auto multiply = [&](std::int64_t task) {
    const numeric::environment standard;
    const parallel::worker_slots::holder worker(slots);
    work.multiply(cut, task, at, memory.get() + scratch + cut.scratch_bytes * static_cast<std::size_t>(worker.slot()));
  };
  if ((cut.pack_tasks > 0 && !executor.parallel_for(cut.pack_tasks, pack)) ||
      !executor.parallel_for(cut.tasks, multiply))
    return failure(TRIL_EXECUTOR_FAILED, "executor: did not run every task exactly once");
  return api::ok();
}

}  // namespace

tril_status tril_projection_create(const tril_context* context, const tril_projection_args* callers,
                                   tril_projection** projection) {
  if (projection == nullptr) return failure(TRIL_INVALID_ARGUMENT, "projection: null");
  *projection = nullptr;
  return api::without_exceptions([&] {
    if (context == nullptr) return failure(TRIL_INVALID_ARGUMENT, "context: null");
    tril_projection_args args = TRIL_PROJECTION_ARGS_INIT;
    if (const tril_status s = api::read_sized(callers, "args", offsetof(tril_projection_args, bias), args);
        s.code != TRIL_OK)
      return s;
    run::weight w;
    if (const tril_status s = check_weight(args, w); s.code != TRIL_OK) return s;
    const numeric::environment standard;
    *projection = new tril_projection{context->engine, {*context->engine->kernels, w}};
    return api::ok();
  });
}

void tril_projection_destroy(tril_projection* projection) { delete projection; }

tril_status tril_projection_run(const tril_projection* projection, const tril_projection_data* data) {
  if (projection == nullptr) return failure(TRIL_INVALID_ARGUMENT, "projection: null");
  return api::without_exceptions([&] { return run_rows(*projection, data); });
}
