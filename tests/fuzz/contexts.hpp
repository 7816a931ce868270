#pragma once

#include <memory>
#include <vector>

#include "choices.hpp"
#include "dispatch/registry.hpp"
#include "held.hpp"
#include "tril/tril.h"

namespace tril::test {

/// An executor of the caller's that does as it is told, on the calling thread.
struct obedient {
  enum : std::int64_t { forward, backward, skips, repeats, strays, kinds };

  std::int64_t how = forward;
  bool failed = false;  ///< whether it did what it must not

  static void parallel_for(void* self, std::int64_t count, void (*task)(void*, std::int64_t), void* closure) {
    obedient& o = *static_cast<obedient*>(self);
    if (o.how > backward) o.failed = true;
    const std::int64_t first = o.how == skips ? 1 : 0;
    for (std::int64_t i = first; i < count; ++i) task(closure, o.how == backward ? count - 1 - i : i);
    if (o.how == repeats) task(closure, count - 1);
    if (o.how == strays) task(closure, count);
  }
};

/// A context of every instruction set that runs here, with one thread and with the executor.
class contexts {
 public:
  struct one {
    tril_context* context;
    const contract::kernel_table* kernels;
  };

  contexts() {
    for (const dispatch::isa& isa : dispatch::built_isas()) {
      if (!isa.supported()) continue;
      tril_context_args args = TRIL_CONTEXT_ARGS_INIT;
      args.isa = isa.kernels->name;
      for (const int threads : {1, 3}) {
        args.threads = threads;
        if (threads > 1) args.executor = {&executor, obedient::parallel_for};
        tril_context* made = nullptr;
        must_hold(tril_context_create(&args, &made).code == TRIL_OK, "a context can be made");
        all_.push_back({made, isa.kernels});
      }
    }
  }
  ~contexts() {
    for (const one& c : all_) tril_context_destroy(c.context);
  }

  const one& pick(choices& c) {
    executor = {c.one_in(8) ? c.below(obedient::kinds) : obedient::forward};
    return all_[static_cast<std::size_t>(c.below(static_cast<std::int64_t>(all_.size())))];
  }

  obedient executor;

 private:
  std::vector<one> all_;
};

}  // namespace tril::test
