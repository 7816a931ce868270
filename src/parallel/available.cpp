#include <algorithm>
#include <thread>

#if defined(__linux__)
#include <sched.h>

#include "parallel/cpu_quota.hpp"
#endif

#include "parallel/executor.hpp"

namespace tril::parallel {
namespace {

int cores() noexcept {
#if defined(__linux__)
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return CPU_COUNT(&mask);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

int available_threads() noexcept {
#if defined(__linux__)
  // A thread beyond the quota would only make all of them wait for the next period.
  return std::max(1, std::min(cores(), cpu_quota("")));
#else
  return std::max(1, cores());
#endif
}

}  // namespace tril::parallel
