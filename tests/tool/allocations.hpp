#pragma once

#include <cstddef>

namespace tril::test {

/// The most bytes that this executable has asked for at once since the last reset.
std::size_t largest_allocation();
void reset_largest_allocation();

}  // namespace tril::test
