#pragma once

#include "dispatch/registry.hpp"
#include "support/isa_used.hpp"
#include "tril/context.hpp"

namespace tril::test {

/// A context of the instruction set under test: the one that TRIL_ISA names, else the best.
inline context context_under_test(int threads = 1, const tril_executor& executor = {}) {
  context ctx({.threads = threads, .executor = executor});
  note_isa(ctx.isa());
  return ctx;
}

inline const contract::kernel_table& kernels_of(const context& ctx) { return *dispatch::find(ctx.isa())->kernels; }

}  // namespace tril::test
