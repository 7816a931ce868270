/// The probes that benchmarks measure this machine with.

#include "kernels/kernels.hpp"
#include "support/catch.hpp"
#include "support/guarded.hpp"

using namespace tril;
using namespace tril::test;

TEST_CASE("The peak probe counts whole vectors of multiply-adds, in proportion to its steps") {
  const contract::kernel_table& kernels = kernels_under_test();
  const auto flops = [&](std::int64_t steps, bool many) {
    contract::peak_args args = {.steps = steps, .many = many, .flops = 0, .result = 0};
    kernels.peak(args);
    CHECK(args.result > 0.0f);  // the chains run towards 1
    return args.flops;
  };
  for (const bool many : {false, true}) {
    const double per_step = flops(1, many) / (2.0 * kernels.width);
    CHECK(per_step == static_cast<int>(per_step));
    CHECK(flops(1000, many) == 1000 * flops(1, many));
  }
  CHECK(flops(1, true) > flops(1, false));
}

TEST_CASE("The read probe reads every float") {
  const contract::kernel_table& kernels = kernels_under_test();
  for (const std::size_t count : {128u, 256u, 1280u}) {
    const guarded<float> ones(count, touching::end, 0x3F800000u);
    CHECK(kernels.read(ones.data(), static_cast<std::int64_t>(count)) == static_cast<float>(count));
  }
}
