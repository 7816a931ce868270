#pragma once

#include <span>
#include <string_view>

#include "contract/table.hpp"

namespace tril::dispatch {

/// An instruction set of this build.
struct isa {
  const contract::kernel_table* kernels;
  bool (*supported)() noexcept;  // by this CPU and operating system
};

/// All of them, in ascending order of preference. The build generates this list.
std::span<const isa> built_isas() noexcept;

/// The one of that name, supported or not; null if there is none.
const isa* find(std::string_view name) noexcept;

/// The best one that this machine supports.
const isa& best() noexcept;

}  // namespace tril::dispatch
