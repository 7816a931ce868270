#pragma once

#include <cstdint>
#include <string>

namespace tril::tool {

/// What the processor calls itself.
std::string cpu_model();

/// Bytes of memory that this machine has.
std::uint64_t physical_memory();

}  // namespace tril::tool
