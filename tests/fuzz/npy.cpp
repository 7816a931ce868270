#include "npy.hpp"

#include "memory_file.hpp"
#include "readable.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const tril::test::memory_file file(bytes, size);
  tril::test::read_or_refused(size, [&] { return tril::tool::read_npy(file.name()); });
  return 0;
}
