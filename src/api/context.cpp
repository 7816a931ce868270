#include "api/context.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "api/sized.hpp"
#include "dispatch/registry.hpp"
#include "parallel/worker_slots.hpp"

using namespace tril;
using api::failure;

namespace {

tril_status choose_isa(const char* asked, const contract::kernel_table*& kernels) {
  const bool from_environment = asked == nullptr;
  if (from_environment) asked = std::getenv("TRIL_ISA");
  if (asked == nullptr || (from_environment && *asked == '\0')) {
    kernels = dispatch::best().kernels;
    return api::ok();
  }
  const char* source = from_environment ? "TRIL_ISA" : "isa";
  const dispatch::isa* found = dispatch::find(asked);
  if (found == nullptr) return failure(TRIL_INVALID_ARGUMENT, "%s: '%.40s' is not in this build", source, asked);
  if (!found->supported()) return failure(TRIL_UNSUPPORTED, "%s: this machine does not run '%s'", source, asked);
  kernels = found->kernels;
  return api::ok();
}

std::unique_ptr<parallel::executor> make_executor(const tril_context_args& args) {
  const int threads =
      args.threads == 0 ? std::min(parallel::available_threads(), parallel::worker_slots::max_slots) : args.threads;
  if (args.executor.parallel_for != nullptr) return parallel::make_callers(args.executor, threads);
  return threads == 1 ? parallel::make_serial() : parallel::make_threads(threads);
}

}  // namespace

tril_status tril_context_create(const tril_context_args* callers, tril_context** context) {
  if (context == nullptr) return failure(TRIL_INVALID_ARGUMENT, "context: null");
  *context = nullptr;
  return api::without_exceptions([&] {
    tril_context_args args = TRIL_CONTEXT_ARGS_INIT;
    if (callers != nullptr)
      if (const tril_status s = api::read_sized(callers, "args", offsetof(tril_context_args, isa), args);
          s.code != TRIL_OK)
        return s;
    if (args.threads < 0 || args.threads > parallel::worker_slots::max_slots)
      return failure(TRIL_INVALID_ARGUMENT, "threads: %d is not in 0 ... %d", args.threads,
                     parallel::worker_slots::max_slots);
    const contract::kernel_table* kernels = nullptr;
    if (const tril_status s = choose_isa(args.isa, kernels); s.code != TRIL_OK) return s;
    auto engine = std::make_shared<const api::engine>(api::engine{kernels, make_executor(args)});
    *context = new tril_context{std::move(engine)};
    return api::ok();
  });
}

void tril_context_destroy(tril_context* context) { delete context; }

const char* tril_context_isa(const tril_context* context) { return context ? context->engine->kernels->name : ""; }

int32_t tril_context_threads(const tril_context* context) { return context ? context->engine->executor->threads() : 0; }

const char* tril_isa_name(int32_t index) {
  const auto isas = dispatch::built_isas();
  return index >= 0 && static_cast<std::size_t>(index) < isas.size()
             ? isas[static_cast<std::size_t>(index)].kernels->name
             : nullptr;
}

int32_t tril_isa_supported(const char* name) {
  const dispatch::isa* found = name ? dispatch::find(name) : nullptr;
  return found != nullptr && found->supported() ? 1 : 0;
}

#define TRIL_TEXT(x) #x
#define TRIL_VERSION_TEXT(major, minor, patch) TRIL_TEXT(major) "." TRIL_TEXT(minor) "." TRIL_TEXT(patch)
const char* tril_version(void) { return TRIL_VERSION_TEXT(TRIL_VERSION_MAJOR, TRIL_VERSION_MINOR, TRIL_VERSION_PATCH); }
