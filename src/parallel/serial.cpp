#include "parallel/executor.hpp"

namespace tril::parallel {
namespace {

class serial final : public executor {
 public:
  int threads() const noexcept override { return 1; }
  bool parallel_for(std::int64_t count, task_ref task) const override {
    for (std::int64_t i = 0; i < count; ++i) task(i);
    return true;
  }
};

}  // namespace

std::unique_ptr<executor> make_serial() { return std::make_unique<serial>(); }

}  // namespace tril::parallel
