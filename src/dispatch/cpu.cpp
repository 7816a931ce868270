#include "dispatch/cpu.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tril::dispatch {

bool supports_scalar() noexcept { return true; }

#if defined(__x86_64__)
namespace {

constexpr bool has_all(std::uint64_t bits, std::uint64_t wanted) { return (bits & wanted) == wanted; }

// CPUID leaf 1, ECX.
constexpr std::uint32_t ssse3 = 1u << 9, fma3 = 1u << 12, sse41 = 1u << 19, sse42 = 1u << 20, popcnt = 1u << 23,
                        osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29;
// CPUID leaf 7, EBX.
constexpr std::uint32_t avx2 = 1u << 5, avx512f = 1u << 16, avx512dq = 1u << 17, avx512cd = 1u << 28,
                        avx512bw = 1u << 30, avx512vl = 1u << 31;
// XCR0: SSE and AVX registers; mask registers, upper halves and upper sixteen of AVX-512.
constexpr std::uint64_t avx_state = 0x06, avx512_state = 0xE6;

}  // namespace

x86_facts read_x86_facts() noexcept {
  x86_facts facts = {};
  std::uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(0, &facts.highest_leaf, &ebx, &ecx, &edx)) return facts;
  __get_cpuid(1, &eax, &ebx, &facts.leaf1_ecx, &edx);
  if (facts.highest_leaf >= 7) __get_cpuid_count(7, 0, &eax, &facts.leaf7_ebx, &ecx, &edx);
  if ((facts.leaf1_ecx & osxsave) != 0) {
    std::uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    facts.xcr0 = (std::uint64_t{high} << 32) | low;
  }
  return facts;
}

bool has_sse42(const x86_facts& facts) noexcept { return has_all(facts.leaf1_ecx, ssse3 | sse41 | sse42 | popcnt); }

bool has_avx2(const x86_facts& facts) noexcept {
  return has_sse42(facts) && has_all(facts.leaf1_ecx, osxsave | avx | fma3) && facts.highest_leaf >= 7 &&
         has_all(facts.leaf7_ebx, avx2) && has_all(facts.xcr0, avx_state);
}

bool has_avx512(const x86_facts& facts) noexcept {
  // F16C: compilers take it to come with AVX512F.
  return has_avx2(facts) && has_all(facts.leaf1_ecx, f16c) &&
         has_all(facts.leaf7_ebx, avx512f | avx512bw | avx512cd | avx512dq | avx512vl) &&
         has_all(facts.xcr0, avx512_state);
}

bool supports_sse42() noexcept { return has_sse42(read_x86_facts()); }
bool supports_avx2() noexcept { return has_avx2(read_x86_facts()); }
bool supports_avx512() noexcept { return has_avx512(read_x86_facts()); }
#elif defined(__aarch64__)
bool supports_neon() noexcept { return true; }  // part of the architecture's floor
#endif

}  // namespace tril::dispatch
