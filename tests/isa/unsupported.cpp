#include "contract/table.hpp"

namespace tril {

/// An instruction set that no machine has, and so without kernels.
namespace unsupported {

constexpr contract::kernel_table name_only() {
  contract::kernel_table table{};
  table.name = "unsupported";
  return table;
}

extern const contract::kernel_table table;
constinit const contract::kernel_table table = name_only();

}  // namespace unsupported

namespace dispatch {

bool supports_unsupported() noexcept;
bool supports_unsupported() noexcept { return false; }

}  // namespace dispatch
}  // namespace tril
