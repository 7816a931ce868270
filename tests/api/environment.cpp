/// The caller's floating-point environment changes nothing and is not changed.

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// Values whose results round differently in every mode, and are flushed where subnormals are.
std::vector<recipe> sensitive_recipes() {
  recipe prefill = {.rows = 30, .keys = 300, .dim = 20, .value_dim = 20, .v = values::subnormal}, decode = prefill;
  decode.rows = 2;
  recipe ordinary = prefill;
  ordinary.v = values::uniform;
  return {prefill, decode, ordinary};
}

void check_unchanged(workload& w, const float_rows& expected, void (*enter)(), bool (*still_there)()) {
  for (const int threads : {1, 2}) {
    const context ctx = context_under_test(threads);
    std::fenv_t saved;
    std::fegetenv(&saved);
    enter();
    const status s = w.run(ctx);
    const bool unchanged = still_there();
    std::fesetenv(&saved);
    require(s);
    CHECK(unchanged);
    require(compare_bits(results_of(w), expected));
  }
}

}  // namespace

TEST_CASE("The caller's rounding mode changes no bit and stays as it was") {
  for (const recipe& r : sensitive_recipes()) {
    workload w(r, seed());
    require(verify(context_under_test(), w));
    const float_rows expected = results_of(w);
    check_unchanged(
        w, expected, [] { std::fesetround(FE_UPWARD); }, [] { return std::fegetround() == FE_UPWARD; });
    check_unchanged(
        w, expected, [] { std::fesetround(FE_DOWNWARD); }, [] { return std::fegetround() == FE_DOWNWARD; });
    check_unchanged(
        w, expected, [] { std::fesetround(FE_TOWARDZERO); }, [] { return std::fegetround() == FE_TOWARDZERO; });
  }
}

#if defined(__x86_64__)
TEST_CASE("The caller's flush-to-zero and denormals-are-zero change no bit and stay as they were") {
  constexpr unsigned flush_and_zero = 0x8040;
  for (const recipe& r : sensitive_recipes()) {
    workload w(r, seed());
    require(verify(context_under_test(), w));
    check_unchanged(
        w, results_of(w), [] { _mm_setcsr(_mm_getcsr() | flush_and_zero); },
        [] { return (_mm_getcsr() & flush_and_zero) == flush_and_zero; });
  }
}

TEST_CASE("The caller's unmasked exceptions trap nothing, and its flags are not raised") {
  constexpr unsigned masks = 0x1F80, flags = 0x3F;
  recipe r = {.rows = 30, .keys = 40, .q = values::nan, .k = values::spikes, .v = values::inf};
  workload w(r, seed());
  require(verify(context_under_test(), w));
  check_unchanged(
      w, results_of(w), [] { _mm_setcsr(_mm_getcsr() & ~(masks | flags)); },
      [] { return (_mm_getcsr() & (masks | flags)) == 0; });
}
#endif
