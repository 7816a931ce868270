#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace tril::test {

/// A file that lies in memory, and is opened by name as any other.
class memory_file {
 public:
  memory_file(const std::uint8_t* bytes, std::size_t size) : descriptor_(memfd_create("input", 0)) {
    if (descriptor_ < 0 || write(descriptor_, bytes, size) != static_cast<ssize_t>(size)) {
      std::perror("memory_file");
      std::abort();
    }
  }
  ~memory_file() { close(descriptor_); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;

  std::string name() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace tril::test
