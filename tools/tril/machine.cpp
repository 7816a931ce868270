#include "machine.hpp"

#include <unistd.h>

#include <fstream>
#include <string_view>

namespace tril::tool {
namespace {

/// The value of the first line "name : value" of /proc/cpuinfo; "" if there is none.
std::string cpu_field(std::string_view name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.substr(0, line.find_first_of("\t:")) == name && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

std::string cpu_model() {
  if (const std::string name = cpu_field("model name"); !name.empty()) {
    // Virtual machines often leave out of the name which processor it is.
    return name + " (family " + cpu_field("cpu family") + ", model " + cpu_field("model") + ")";
  }
  // Arm has numbers in place of a name.
  const std::string implementer = cpu_field("CPU implementer"), part = cpu_field("CPU part");
  return part.empty() ? "unknown" : "implementer " + implementer + ", part " + part;
}

std::uint64_t physical_memory() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace tril::tool
