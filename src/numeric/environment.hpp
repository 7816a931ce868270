#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tril::numeric {

/// Round to nearest even, subnormals kept, exceptions masked: for the life of this object, on this thread.
class environment {
 public:
  environment() noexcept : saved_(read()) { write(standard); }
  ~environment() { write(saved_); }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

 private:
#if defined(__x86_64__)
  using word = unsigned int;
  static constexpr word standard = 0x1F80;  // MXCSR
  static word read() noexcept { return _mm_getcsr(); }
  static void write(word value) noexcept { _mm_setcsr(value); }
#elif defined(__aarch64__)
  using word = std::uint64_t;
  static constexpr word standard = 0;  // FPCR
  // The clobbers keep loads, stores and calls where they are written: between the one and the other.
  static word read() noexcept {
    word value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value) : : "memory");
    return value;
  }
  static void write(word value) noexcept { __asm__ volatile("msr fpcr, %0" : : "r"(value) : "memory"); }
#else
#error "tril needs to know how to set this processor's rounding and subnormal modes"
#endif
  word saved_;
};

}  // namespace tril::numeric
