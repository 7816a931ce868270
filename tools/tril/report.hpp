#pragma once

#include <cstdint>
#include <string>

#include "results.hpp"

namespace tril::tool {

/// What was compared.
struct question {
  std::string source;
  std::int64_t seed;
  const problem& p;
  std::int64_t pairs;  // visible ones
  const compared_rows& compared;
};

/// For people, and for programs: one JSON object.
std::string report_text(const question& asked, const findings& found, bool colours);
std::string report_json(const question& asked, const findings& found);

}  // namespace tril::tool
