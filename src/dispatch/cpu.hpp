#pragma once

/// What this processor and operating system can run.

#include <cstdint>

namespace tril::dispatch {

#if defined(__x86_64__)
/// What CPUID and XGETBV report, so that the decisions below are pure functions of it.
struct x86_facts {
  std::uint32_t highest_leaf;
  std::uint32_t leaf1_ecx;
  std::uint32_t leaf7_ebx;
  std::uint64_t xcr0;  // which register states the operating system saves; 0 if it does not say
};
x86_facts read_x86_facts() noexcept;

/// A level counts only if every feature that its objects are compiled with is there, and the operating system
/// keeps its registers: no feature is taken to imply another.
bool has_sse42(const x86_facts& facts) noexcept;
bool has_avx2(const x86_facts& facts) noexcept;
bool has_avx512(const x86_facts& facts) noexcept;
#endif

/// One function per name in the build's list of instruction sets.
bool supports_scalar() noexcept;
bool supports_sse42() noexcept;
bool supports_avx2() noexcept;
bool supports_avx512() noexcept;
bool supports_neon() noexcept;

}  // namespace tril::dispatch
