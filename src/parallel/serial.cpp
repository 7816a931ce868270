#include "parallel/executor.hpp"

namespace tril::parallel {
namespace {

class serial final : public executor {
 public:
  explicit serial(int threads) : threads_(threads) {}
  int threads() const noexcept override { return threads_; }
  bool parallel_for(std::int64_t count, task_ref task) const override {
    for (std::int64_t i = 0; i < count; ++i) task(i);
    return true;
  }

 private:
  int threads_;
};

}  // namespace

std::unique_ptr<executor> make_serial(int threads) { return std::make_unique<serial>(threads); }

}  // namespace tril::parallel
