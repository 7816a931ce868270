/// The attention calls of tril.h: check, then plan and run.

#include <cstddef>
#include <new>
#include <string>

#include "api/context.hpp"
#include "api/sized.hpp"
#include "api/validate.hpp"
#include "memory/aligned.hpp"
#include "numeric/environment.hpp"
#include "parallel/worker_slots.hpp"
#include "run/work.hpp"

using namespace tril;
using api::failure;

struct tril_plan {
  std::shared_ptr<const api::engine> engine;
  std::unique_ptr<const run::work> work;
  std::string kernel;
};

namespace {

run::pointers pointers_of(const tril_attention_data& data, std::byte* workspace) {
  return {static_cast<const std::byte*>(data.q),
          static_cast<const std::byte*>(data.k),
          static_cast<const std::byte*>(data.v),
          static_cast<std::byte*>(data.out),
          data.lse,
          workspace};
}

tril_status read_data(const tril_plan& plan, const tril_attention_data* callers, tril_attention_data& data) {
  if (const tril_status s = api::read_sized(callers, "data", offsetof(tril_attention_data, lse), data);
      s.code != TRIL_OK)
    return s;
  return api::check_data(plan.work->problem(), data, plan.work->workspace_bytes());
}

tril_status run_stages(const tril_plan& plan, const run::pointers& at) {
  parallel::worker_slots slots(plan.work->workers());
  for (std::int64_t stage = 0; stage < plan.work->stages(); ++stage) {
    const auto task = [&](std::int64_t i) {
      const numeric::environment standard;
      const parallel::worker_slots::holder worker(slots);
      plan.work->run_task(stage, i, worker.slot(), at);
    };
    const std::int64_t tasks = plan.work->tasks(stage);
    if (tasks > 0 && !plan.engine->executor->parallel_for(tasks, task))
      return failure(TRIL_EXECUTOR_FAILED, "executor: did not run every task exactly once");
  }
  return api::ok();
}

tril_status make_plan(const tril_context* context, const tril_attention_args* args, std::unique_ptr<tril_plan>& plan) {
  const numeric::environment standard;
  if (context == nullptr) return failure(TRIL_INVALID_ARGUMENT, "context: null");
  planning::problem problem;
  if (const tril_status s = api::check_args(args, problem); s.code != TRIL_OK) return s;
  const auto& engine = context->engine;
  auto work = run::make_work(std::move(problem), *engine->kernels, engine->executor->threads());
  std::string kernel = std::string(engine->kernels->name) + "/" + work->kernel();
  plan.reset(new tril_plan{engine, std::move(work), std::move(kernel)});
  return api::ok();
}

tril_status run_plan(const tril_plan& plan, const tril_attention_data* callers) {
  tril_attention_data data = TRIL_ATTENTION_DATA_INIT;
  if (const tril_status s = read_data(plan, callers, data); s.code != TRIL_OK) return s;
  const std::size_t bytes = plan.work->workspace_bytes();
  aligned_bytes own;
  if (data.workspace == nullptr && bytes > 0) {
    own = allocate_aligned(bytes);
    if (own == nullptr) return failure(TRIL_OUT_OF_MEMORY, "workspace: no memory for %zu bytes", bytes);
  }
  return run_stages(plan, pointers_of(data, own ? own.get() : static_cast<std::byte*>(data.workspace)));
}

}  // namespace

tril_status tril_attention(const tril_context* context, const tril_attention_args* args,
                           const tril_attention_data* data) {
  return api::without_exceptions([&] {
    std::unique_ptr<tril_plan> plan;
    const tril_status made = make_plan(context, args, plan);
    return made.code == TRIL_OK ? run_plan(*plan, data) : made;
  });
}

tril_status tril_plan_create(const tril_context* context, const tril_attention_args* args, tril_plan** plan) {
  if (plan == nullptr) return failure(TRIL_INVALID_ARGUMENT, "plan: null");
  *plan = nullptr;
  return api::without_exceptions([&] {
    std::unique_ptr<tril_plan> made;
    const tril_status status = make_plan(context, args, made);
    *plan = made.release();
    return status;
  });
}

void tril_plan_destroy(tril_plan* plan) { delete plan; }

tril_status tril_plan_run(const tril_plan* plan, const tril_attention_data* data) {
  if (plan == nullptr) return failure(TRIL_INVALID_ARGUMENT, "plan: null");
  return api::without_exceptions([&] { return run_plan(*plan, data); });
}

size_t tril_plan_workspace_bytes(const tril_plan* plan) { return plan ? plan->work->workspace_bytes() : 0; }

const char* tril_plan_kernel(const tril_plan* plan) { return plan ? plan->kernel.c_str() : ""; }

int64_t tril_plan_stages(const tril_plan* plan) { return plan ? plan->work->stages() : 0; }

int64_t tril_plan_tasks(const tril_plan* plan, int64_t stage) {
  return plan != nullptr && stage >= 0 && stage < plan->work->stages() ? plan->work->tasks(stage) : 0;
}

tril_status tril_plan_run_task(const tril_plan* plan, int64_t stage, int64_t task, int32_t worker,
                               const tril_attention_data* callers) {
  if (plan == nullptr) return failure(TRIL_INVALID_ARGUMENT, "plan: null");
  return api::without_exceptions([&] {
    if (stage < 0 || stage >= plan->work->stages())
      return failure(TRIL_INVALID_ARGUMENT, "stage: there is no such one");
    if (task < 0 || task >= plan->work->tasks(stage))
      return failure(TRIL_INVALID_ARGUMENT, "task: there is no such one");
    if (worker < 0 || worker >= plan->work->workers())
      return failure(TRIL_INVALID_ARGUMENT, "worker: %d is not in 0 ... %d", worker, plan->work->workers() - 1);
    tril_attention_data data = TRIL_ATTENTION_DATA_INIT;
    if (const tril_status s = read_data(*plan, callers, data); s.code != TRIL_OK) return s;
    if (data.workspace == nullptr)
      return failure(TRIL_INVALID_ARGUMENT, "workspace: null; the tasks of a run share one");
    const numeric::environment standard;
    plan->work->run_task(stage, task, worker, pointers_of(data, static_cast<std::byte*>(data.workspace)));
    return api::ok();
  });
}
