#pragma once

#include <string>
#include <vector>

#include "support/workload.hpp"

namespace tril::test {

/// Which keys each row of sequence 0 sees, a string per row: "11.." sees the first two of four. Read off the weights:
/// queries of zero give every visible key the same one, and one-hot values copy them to the output. A weight that is
/// not what the number of visible keys makes of it is a '?', as are all of a row whose lse is not.
std::vector<std::string> seen(const context& ctx, recipe r);

/// The values of a workload's rows, each a multiple of a one-hot vector: value j is one in column j. Keys that nobody
/// sees stay poisoned.
void make_one_hot(const float_tensor& v);

/// Every score becomes zero.
void make_zero(const float_tensor& q);

}  // namespace tril::test
