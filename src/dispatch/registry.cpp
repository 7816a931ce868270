#include "dispatch/registry.hpp"

namespace tril::dispatch {

const isa* find(std::string_view name) noexcept {
  for (const isa& i : built_isas())
    if (i.kernels->name == name) return &i;
  return nullptr;
}

const isa& best() noexcept {
  const auto isas = built_isas();
  for (auto i = isas.rbegin(); i != isas.rend(); ++i)
    if (i->supported()) return *i;
  return isas.front();  // scalar runs everywhere
}

}  // namespace tril::dispatch
