#pragma once

#include <string>
#include <vector>

#include "support/workload.hpp"

namespace tril::test {

/// A problem, its data and what another implementation made of it, in the order of [batch][tokens][heads][dim].
struct test_vector {
  std::string name;
  recipe made;
  std::vector<float> q, k, v, out;
};

/// Reads what tools/onnx-vectors wrote to the directory that TRIL_ONNX_VECTORS names, else to build/onnx-vectors.
/// Ends the process as skipped where nothing has been written.
std::vector<test_vector> read_vectors();

}  // namespace tril::test
