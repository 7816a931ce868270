/// What lies in memory before a call, and who writes where.

#include <malloc.h>

#include "cases/inputs.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// Leaves NaN where the next calls will have their frames.
[[gnu::noinline]] void scribble_on_the_stack() {
  volatile float garbage[1 << 18];
  for (volatile float& x : garbage) x = quiet_nan;
}

/// For as long as this lives, memory is full of 0x7F bytes, 3e38 as a float, when it is allocated.
class scribbled_heap {
 public:
  scribbled_heap() { mallopt(M_PERTURB, 0x80); }  // its complement
  ~scribbled_heap() { mallopt(M_PERTURB, 0); }
  scribbled_heap(const scribbled_heap&) = delete;
  scribbled_heap& operator=(const scribbled_heap&) = delete;
};

std::vector<recipe> tails() {
  std::vector<recipe> all;
  for (const std::int64_t dim : {1, 6, 16, 17, 63, 80, 130, 257})
    for (const std::int64_t keys : {1, 15, 17, 65})
      for (const std::int64_t rows : {1, 3, 30}) {
        recipe r = {.batch = 2, .rows = rows, .keys = keys, .q_heads = 4, .kv_heads = 2, .dim = dim, .value_dim = dim};
        for (storage recipe::*which :
             {&recipe::q_storage, &recipe::k_storage, &recipe::v_storage, &recipe::out_storage, &recipe::lse_storage})
          r.*which = {.padding = 3};
        all.push_back(r);
      }
  return all;
}

}  // namespace

TEST_CASE("Sums that begin with what the stack or the heap held before") {
  const context ctx = context_under_test();
  for (const recipe& r : tails()) {
    workload w = random_workload(r);
    require(verify(ctx, w));
    const float_rows expected = results_of(w);
    const scribbled_heap heap;
    for (int repetition = 0; repetition < 5; ++repetition) {
      scribble_on_the_stack();
      require(w.run(ctx));
      require(compare_bits(results_of(w), expected));
    }
  }
}

TEST_CASE("Rows of a neighbour, or the gaps between rows, that a thread writes to") {
  const context ctx = context_under_test(8);
  for (const recipe& r : tails()) {
    workload w = random_workload(r);
    require(verify(ctx, w));
  }
}
