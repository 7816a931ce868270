/// Contexts of any instruction set and any number of threads; calls without objects.

#include <string>

#include "api.hpp"
#include "described.hpp"

namespace tril::test {

void try_context(choices& c) {
  std::string name;
  if (c.one_in(2)) {
    const char* built = tril_isa_name(static_cast<std::int32_t>(c.below(9)) - 1);
    name = built != nullptr ? built : "";
  }
  for (std::int64_t letters = c.below(4); letters > 0; --letters) name += static_cast<char>(c.byte());

  tril_context_args args = TRIL_CONTEXT_ARGS_INIT;
  args.isa = c.one_in(4) ? nullptr : name.c_str();
  args.threads = static_cast<std::int32_t>(c.one_in(4) ? c.any() : c.below(5));
  obedient executor;
  args.executor = {&executor, obedient::parallel_for};
  const sized<tril_context_args> callers(c, args);

  tril_context* made = reinterpret_cast<tril_context*>(&args);  // to be overwritten
  const tril_status s = tril_context_create(callers.get(), &made);
  must_be_a_status(s);
  must_hold((s.code == TRIL_OK) == (made != nullptr), "a context exactly after success");
  if (made != nullptr && callers.is_whole()) {
    must_hold(callers.is_known(), "unknown fields are refused");
    must_hold(args.isa == nullptr || args.isa == std::string(tril_context_isa(made)), "the instruction set asked for");
    must_hold(tril_isa_supported(tril_context_isa(made)) == 1, "an instruction set that runs here");
    must_hold(args.threads == 0 || args.threads == tril_context_threads(made), "the threads asked for");
    must_hold(tril_context_threads(made) >= 1, "at least one thread");
  }
  tril_context_destroy(made);

  for (const tril_status& refused :
       {tril_context_create(nullptr, nullptr), tril_plan_create(nullptr, nullptr, nullptr),
        tril_merge(nullptr, nullptr), tril_plan_run(nullptr, nullptr), tril_plan_run_task(nullptr, 0, 0, 0, nullptr),
        tril_attention(nullptr, nullptr, nullptr), tril_attention_cost(nullptr, nullptr)})
    must_hold(refused.code == TRIL_INVALID_ARGUMENT, "null is refused");
}

}  // namespace tril::test
