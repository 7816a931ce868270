#include "numeric/environment.hpp"

#include <cfenv>

#include "support/catch.hpp"

using tril::numeric::environment;

namespace {

/// Not folded by the compiler, which knows nothing of rounding modes.
float divide(float a, float b) {
  const volatile float dividend = a, divisor = b;
  return dividend / divisor;
}

/// A rounding mode of the caller's, taken back at the end.
struct rounding {
  explicit rounding(int mode) : before(std::fegetround()) { std::fesetround(mode); }
  ~rounding() { std::fesetround(before); }
  int before;
};

/// Seen from results: a third rounded to nearest, up or down.
int mode_in_force() {
  const float third = 0x1.555556p-2f;  // to nearest, which is up
  if (divide(-1, 3) == -third) return divide(1, 3) == third ? FE_TONEAREST : FE_DOWNWARD;
  return divide(1, 3) == third ? FE_UPWARD : FE_TOWARDZERO;
}

}  // namespace

TEST_CASE("within an environment results are rounded to nearest, afterwards as before") {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    const rounding callers(mode);
    CAPTURE(mode);
    CHECK(mode_in_force() == mode);
    {
      const environment standard;
      CHECK(mode_in_force() == FE_TONEAREST);
    }
    CHECK(mode_in_force() == mode);
  }
}

TEST_CASE("environments nest") {
  const rounding callers(FE_UPWARD);
  {
    const environment outer;
    std::fesetround(FE_DOWNWARD);
    {
      const environment inner;
      CHECK(mode_in_force() == FE_TONEAREST);
    }
    CHECK(mode_in_force() == FE_DOWNWARD);
  }
  CHECK(mode_in_force() == FE_UPWARD);
}

#if defined(__x86_64__)

TEST_CASE("within an environment subnormals are kept and nothing traps, afterwards as before") {
  const unsigned before = _mm_getcsr();
  constexpr unsigned flush = 0x8040, upward = 0x4000, unmasked = 0x1F80;  // FTZ and DAZ; rounding; all exceptions
  _mm_setcsr((before & ~unmasked & ~0x3Fu) | flush | upward);
  const unsigned callers = _mm_getcsr();
  unsigned within;
  float subnormal, infinite;
  {
    const environment standard;
    within = _mm_getcsr();
    subnormal = divide(0x1p-126f, 2);
    infinite = divide(1, 0);
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(within == 0x1F80);
  CHECK(subnormal == 0x1p-127f);
  CHECK(infinite == __builtin_inff());
  CHECK(after == callers);
}

#elif defined(__aarch64__)

TEST_CASE("within an environment subnormals are kept and NaN are not replaced, afterwards as before") {
  const auto read = [] {
    std::uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr) : : "memory");
    return fpcr;
  };
  const auto write = [](std::uint64_t fpcr) { __asm__ volatile("msr fpcr, %0" : : "r"(fpcr) : "memory"); };
  constexpr std::uint64_t default_nan = 1u << 25, flush = 1u << 24, upward = 1u << 22;
  const std::uint64_t before = read();
  write(default_nan | flush | upward);
  const std::uint64_t callers = read();
  std::uint64_t within;
  float subnormal;
  {
    const environment standard;
    within = read();
    subnormal = divide(0x1p-126f, 2);
  }
  const std::uint64_t after = read();
  write(before);
  CHECK(callers == (default_nan | flush | upward));
  CHECK(within == 0);
  CHECK(subnormal == 0x1p-127f);
  CHECK(after == callers);
}

#endif
