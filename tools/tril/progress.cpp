#include "progress.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace tril::tool {

progress::progress(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO)) shower_ = std::thread([this] { show(); });
}

progress::~progress() {
  if (!shower_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  finished_.notify_one();
  shower_.join();
}

void progress::show() {
  using namespace std::chrono_literals;
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  const auto finished_within = [&](auto time) { return finished_.wait_for(lock, time, [this] { return done_; }); };
  if (finished_within(1s)) return;
  do {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    const double share = share_;
    if (share > 0)
      std::fprintf(stderr, "\r%s: %.0f %%\033[K", what_.c_str(), 100 * share);
    else
      std::fprintf(stderr, "\r%s: %.0f s\033[K", what_.c_str(), passed.count());
  } while (!finished_within(200ms));
  std::fputs("\r\033[K", stderr);
}

}  // namespace tril::tool
