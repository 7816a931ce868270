/// Checks the yardstick itself: that the multiply-add probe of each instruction set runs at a whole number of
/// vector operations per cycle, and that two numbers of chains agree.

#include <cmath>
#include <cstdio>
#include <vector>

#include "dispatch/registry.hpp"
#include "support/limits.hpp"

namespace tril::bench {
namespace {

/// Cycles per second, from a chain of integer additions that each take one cycle.
double clock_rate() {
  constexpr std::int64_t steps = 2'000'000;
  std::uint64_t x = 1;
  const double begin = now();
  for (std::int64_t i = 0; i < steps; i += 8) {
#if defined(__x86_64__) || defined(__aarch64__)
    // Opaque to the compiler, which would add up the constants.
    for (int j = 0; j < 8; ++j) {
      x += 1;
      __asm__ volatile("" : "+r"(x));
    }
#endif
  }
  return static_cast<double>(steps) / (now() - begin);
}

struct reading {
  double operations_per_cycle;  // vector operations: a fused multiply-add is one
  double agreement;             // of few and many chains
};

reading read(const contract::kernel_table& kernels) {
  const limits machine(kernels, 1);
  const double flops_per_operation = 2.0 * kernels.width;
  std::vector<double> operations, agreement;
  for (int i = 0; i < 31; ++i) {
    const double clock = clock_rate();
    const double many = machine.flops(true), few = machine.flops(false);
    operations.push_back(many / flops_per_operation / clock);
    agreement.push_back(few / many);
  }
  return {median(operations), median(agreement)};
}

}  // namespace
}  // namespace tril::bench

int main() {
  using namespace tril;
  int wrong = 0;
  for (const dispatch::isa& isa : dispatch::built_isas()) {
    if (!isa.supported()) continue;
    const auto [operations, agreement] = bench::read(*isa.kernels);
    const double whole = std::round(operations);
    const bool good = whole >= 1 && std::abs(operations / whole - 1) <= 0.03 && std::abs(agreement - 1) <= 0.03;
    std::printf("%-8s %.2f multiply-adds per cycle, few chains / many chains %.3f%s\n", isa.kernels->name, operations,
                agreement, good ? "" : "  <- not as expected");
    wrong += !good;
  }
  return wrong != 0;
}
