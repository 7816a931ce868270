#include "isas.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "bad_input.hpp"

namespace tril::tool {
namespace {

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> names;
  for (std::size_t comma = 0; comma != std::string_view::npos; list.remove_prefix(comma + 1)) {
    comma = list.find(',');
    names.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) break;
  }
  return names;
}

}  // namespace

std::vector<const dispatch::isa*> choose_isas(const std::optional<std::string>& list,
                                              std::span<const dispatch::isa> built) {
  std::vector<const dispatch::isa*> chosen;
  if (!list) {
    for (const dispatch::isa& i : built)
      if (i.supported()) chosen.push_back(&i);
    return chosen;
  }
  const auto names = split(*list);
  for (const std::string_view name : names) {
    const auto found = std::find_if(built.begin(), built.end(), [&](const auto& i) { return i.kernels->name == name; });
    if (found == built.end()) {
      std::vector<std::string_view> there;
      for (const dispatch::isa& i : built) there.push_back(i.kernels->name);
      throw bad_input("--isa: '{}' is not in this build, which has {}", name, fmt::join(there, ", "));
    }
    if (!found->supported()) throw bad_input("--isa: this machine does not run '{}'", name);
  }
  for (const dispatch::isa& i : built)
    if (std::find(names.begin(), names.end(), i.kernels->name) != names.end()) chosen.push_back(&i);
  return chosen;
}

}  // namespace tril::tool
