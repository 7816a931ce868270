#pragma once

#include <cstdint>
#include <memory>

#include "tril/tril.h"

namespace tril::parallel {

/// A task to run for each i of a range: a reference to something callable, which must outlive the run.
class task_ref {
 public:
  template <class F>
  task_ref(const F& f) noexcept
      : closure_(&f), call_([](const void* closure, std::int64_t i) { (*static_cast<const F*>(closure))(i); }) {}
  void operator()(std::int64_t i) const { call_(closure_, i); }

 private:
  const void* closure_;
  void (*call_)(const void*, std::int64_t);
};

/// Threads to run tasks on. Any number of runs may be under way at once, also from inside a task.
class executor {
 public:
  virtual ~executor() = default;

  /// The most tasks of one run that are at work at once.
  virtual int threads() const noexcept = 0;

  /// Runs task(i) once for every i in [0, count) and returns when all are done. False if that did not happen.
  virtual bool parallel_for(std::int64_t count, task_ref task) const = 0;
};

/// Runs tasks one after the other, and lets others run those of a plan on so many threads.
std::unique_ptr<executor> make_serial(int threads = 1);
std::unique_ptr<executor> make_callers(const tril_executor& callers, int threads);
/// The library's own threads. Throws std::bad_alloc.
std::unique_ptr<executor> make_threads(int threads);

/// The cores that this process may use, or as many as the CPU quota of its control groups pays for, if that is less.
int available_threads() noexcept;

}  // namespace tril::parallel
