/// The C API, called with anything that a program can hand over without breaking a rule of C.

#include "api.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static tril::test::contexts all;
  tril::test::choices c(bytes, size);
  switch (c.below(8)) {
    case 7:
      tril::test::try_context(c);
      break;
    case 6:
      tril::test::try_merge(c, all);
      break;
    case 5:
      tril::test::try_projection(c, all);
      break;
    default:
      tril::test::try_attention(c, all);
  }
  return 0;
}
