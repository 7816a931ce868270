#pragma once

#include <memory>

#include "tril/status.hpp"

namespace tril {

/// All defaults: the best instruction set, the cores this process may use, the library's own threads.
struct context_options {
  const char* isa = nullptr;    ///< By name; null: the environment's TRIL_ISA if set, else the best.
  int threads = 0;              ///< Most at work at once, up to 1024; 0: the cores this process may use; 1: no pool.
  tril_executor executor = {};  ///< The caller's own threads, if parallel_for is set.
};

/// Which instruction set and which threads. Immutable; may be used from many threads at once. A context
/// that could not be made carries the reason, and every call that is given it returns that.
class context {
 public:
  /// Errors: invalid_argument for an instruction set that is not in this build, unsupported for one that this
  /// machine does not run, invalid_argument for threads.
  explicit context(const context_options& options = {}) noexcept {
    tril_context_args args = TRIL_CONTEXT_ARGS_INIT;
    args.isa = options.isa;
    args.threads = options.threads;
    args.executor = options.executor;
    tril_context* raw = nullptr;
    status_ = tril_context_create(&args, &raw);
    raw_.reset(raw);
  }

  /// Why it could not be made; true after success.
  const tril::status& status() const noexcept { return status_; }
  /// Whether it could be made.
  explicit operator bool() const noexcept { return static_cast<bool>(status_); }

  /// The instruction set in use, "avx2"; "" if the context could not be made.
  const char* isa() const noexcept { return raw_ ? tril_context_isa(raw_.get()) : ""; }
  /// The most threads at work at once; 0 if the context could not be made.
  int threads() const noexcept { return raw_ ? tril_context_threads(raw_.get()) : 0; }
  /// For the C interface; null if the context could not be made.
  const tril_context* raw() const noexcept { return raw_.get(); }

 private:
  struct destroy {
    void operator()(tril_context* raw) const noexcept { tril_context_destroy(raw); }
  };
  tril::status status_;
  std::unique_ptr<tril_context, destroy> raw_;
};

}  // namespace tril
