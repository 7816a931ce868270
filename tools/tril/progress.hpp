#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tril::tool {

/// Tells a person at a terminal what takes so long: after a second, on the standard error, gone when done.
class progress {
 public:
  explicit progress(std::string what);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// How much is done, 0 ... 1.
  void at(double share) { share_ = share; }

 private:
  void show();

  std::string what_;
  std::atomic<double> share_ = 0;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool done_ = false;
  std::thread shower_;
};

}  // namespace tril::tool
