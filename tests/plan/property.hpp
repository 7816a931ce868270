#pragma once

#include <rapidcheck.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "support/catch.hpp"

namespace tril::test {

/// The parameters of rapidcheck: its random inputs come from the seed of this run, unless RC_PARAMS, as its
/// reports give it, says which to repeat.
inline rc::detail::TestParams property_params() {
  static const std::string params = "seed=" + std::to_string(seed());
  setenv("RC_PARAMS", params.c_str(), 0);  // before rapidcheck's first look at it
  return rc::detail::configuration().testParams;
}

/// Tries a property on random inputs, and reports the smallest one that contradicts it.
template <class Property>
void holds_for(int inputs, Property property) {
  rc::detail::TestParams params = property_params();
  params.maxSuccess = inputs;
  const auto result = rc::detail::checkTestable(property, rc::detail::TestMetadata{}, params);
  std::ostringstream report;
  rc::detail::printResultMessage(result, report);
  INFO(report.str());
  REQUIRE(result.template is<rc::detail::SuccessResult>());
}

}  // namespace tril::test
