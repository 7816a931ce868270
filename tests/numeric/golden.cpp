/// Checksums of the functions, so that no digit of their constants can change unnoticed: one that moves no error
/// figure still moves a few roundings.

#include "numeric/scan.hpp"
#include "support/catch.hpp"

using namespace tril;
using namespace tril::test;

namespace {

struct checksum {
  std::uint64_t sum = 0;

  /// Depends on which argument has which result, not on the order of the calls.
  void add(std::uint64_t argument, std::uint64_t result) { sum += (2 * argument + 1) * result; }
  void join(const checksum& other) { sum += other.sum; }
};

/// The checksum of a function over every 61st pattern between two floats.
template <class Function>
std::uint64_t checksum_of(Function function, float first, float last) {
  return scan<checksum>(pattern_of(first), pattern_of(last),
                        [&](auto begin, auto end, checksum& found) {
                          for (auto i = begin; i < end; i += sparse) found.add(i, function(float_of(i)));
                        })
      .sum;
}

template <bool Fused>
std::uint64_t exp_bits(float x) {
  return pattern_of(numeric::exp32<Fused>(x));
}

template <bool Fused>
std::uint64_t tanh_bits(float y) {
  return pattern_of(numeric::tanh32<Fused>(y));
}

std::uint64_t ln_bits(float x) { return numeric::bits_as<std::uint64_t>(numeric::ln64(static_cast<double>(x))); }

}  // namespace

TEST_CASE("the bits of exp32, tanh32 and ln64 are those written down") {
  const float lowest = numeric::exp_constants::lowest, largest = 0x1.fffffep127f;
  // If a change is meant, arithmetic_version goes up with it.
  CAPTURE(numeric::arithmetic_version);
  CHECK(checksum_of(exp_bits<true>, -0.0f, lowest) == 0xEE0FF7D3C3FFF667u);
  CHECK(checksum_of(exp_bits<false>, -0.0f, lowest) == 0xEE0FF4B4666736B7u);
  CHECK(checksum_of(tanh_bits<true>, 0x1p-13f, 10.0f) == 0xA5CA7C42FE2524B7u);
  CHECK(checksum_of(tanh_bits<false>, 0x1p-13f, 10.0f) == 0xA5CA7C35C264CE1Du);
  CHECK(checksum_of(ln_bits, 0x1p-126f, largest) == 0xEFCDC37E2193D76Eu);
}
