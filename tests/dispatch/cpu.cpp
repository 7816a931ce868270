/// Which instruction sets a processor and its operating system run, as a pure function of what they report.

#include "dispatch/cpu.hpp"

#include <string>

#include "dispatch/registry.hpp"
#include "support/catch.hpp"

#if defined(__x86_64__)

using namespace tril::dispatch;

namespace {

constexpr std::uint32_t ssse3 = 1u << 9, fma3 = 1u << 12, sse41 = 1u << 19, sse42 = 1u << 20, popcnt = 1u << 23,
                        osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29;
constexpr std::uint32_t avx2 = 1u << 5, avx512f = 1u << 16, avx512dq = 1u << 17, avx512cd = 1u << 28,
                        avx512bw = 1u << 30, avx512vl = 1u << 31;
constexpr std::uint64_t all_state = 0xE7, avx_state = 0x07, sse_state = 0x03;

/// A machine that has everything.
x86_facts complete() {
  return {.highest_leaf = 0x1F,
          .leaf1_ecx = ssse3 | fma3 | sse41 | sse42 | popcnt | osxsave | avx | f16c,
          .leaf7_ebx = avx2 | avx512f | avx512dq | avx512cd | avx512bw | avx512vl,
          .xcr0 = all_state};
}

/// "sse42", "avx2", "avx512" or "": the best level.
const char* best(const x86_facts& facts) {
  return has_avx512(facts) ? "avx512" : has_avx2(facts) ? "avx2" : has_sse42(facts) ? "sse42" : "";
}

const char* best_without(std::uint32_t leaf1, std::uint32_t leaf7) {
  x86_facts facts = complete();
  facts.leaf1_ecx &= ~leaf1;
  facts.leaf7_ebx &= ~leaf7;
  return best(facts);
}

const char* best_with_state(std::uint64_t xcr0) {
  x86_facts facts = complete();
  facts.xcr0 = xcr0;
  return best(facts);
}

}  // namespace

TEST_CASE("A complete machine runs AVX-512") { CHECK(best(complete()) == std::string("avx512")); }

TEST_CASE("Registers that the operating system does not save are not used") {
  CHECK(best_with_state(avx_state) == std::string("avx2"));
  CHECK(best_with_state(sse_state) == std::string("sse42"));
  CHECK(best_with_state(0) == std::string("sse42"));
  CHECK(best_with_state(all_state & ~std::uint64_t{0x20}) == std::string("avx2"));  // mask registers missing
  CHECK(best_without(osxsave, 0) == std::string("sse42"));
}

TEST_CASE("No feature implies another") {
  CHECK(best_without(0, avx2) == std::string("sse42"));
  CHECK(best_without(fma3, 0) == std::string("sse42"));
  CHECK(best_without(avx, 0) == std::string("sse42"));
  for (const std::uint32_t bit : {avx512f, avx512dq, avx512cd, avx512bw, avx512vl})
    CHECK(best_without(0, bit) == std::string("avx2"));
  CHECK(best_without(f16c, 0) == std::string("avx2"));
  for (const std::uint32_t bit : {ssse3, sse41, sse42, popcnt}) CHECK(best_without(bit, 0) == std::string(""));
}

TEST_CASE("Leaf 7 is not believed where CPUID does not reach it") {
  x86_facts facts = complete();
  facts.highest_leaf = 6;
  CHECK(best(facts) == std::string("sse42"));
}

TEST_CASE("This machine's own report agrees with the compiler's") {
  const x86_facts facts = read_x86_facts();
  // The compiler's runtime checks the operating system as well.
  CHECK(has_avx2(facts) == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
  CHECK(has_avx512(facts) == (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                              __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx2")));
}

#elif defined(__aarch64__)

TEST_CASE("Every AArch64 runs neon") {
  const tril::dispatch::isa* neon = tril::dispatch::find("neon");
  REQUIRE(neon != nullptr);
  CHECK(neon->supported());
  CHECK(neon->kernels->fused);
}

#endif
