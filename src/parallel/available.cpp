#include <algorithm>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include "parallel/executor.hpp"

namespace tril::parallel {

int available_threads() noexcept {
#if defined(__linux__)
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace tril::parallel
