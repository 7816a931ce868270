#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dispatch/registry.hpp"

namespace tril::tool {

/// The instruction sets that a comma-separated list names, in the order of `built`; without one, all that this machine
/// runs. Throws bad_input for a name that is not there, or that this machine does not run.
std::vector<const dispatch::isa*> choose_isas(const std::optional<std::string>& list,
                                              std::span<const dispatch::isa> built);

}  // namespace tril::tool
