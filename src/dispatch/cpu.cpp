#include "dispatch/cpu.hpp"

namespace tril::dispatch {

bool supports_scalar() noexcept { return true; }

}  // namespace tril::dispatch
