#pragma once

#include <memory>

#include "api/status.hpp"
#include "contract/table.hpp"
#include "parallel/executor.hpp"

namespace tril::api {

/// What a context is, shared with the plans made from it.
struct engine {
  const contract::kernel_table* kernels;
  std::unique_ptr<parallel::executor> executor;
};

/// Calls body(), which returns a status, and turns what it throws into one: nothing leaves the C ABI.
template <class Body>
tril_status without_exceptions(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return failure(TRIL_OUT_OF_MEMORY, "out of memory");
  } catch (...) {
    return failure(TRIL_EXECUTOR_FAILED, "executor: failed");
  }
}

}  // namespace tril::api

struct tril_context {
  std::shared_ptr<const tril::api::engine> engine;
};
