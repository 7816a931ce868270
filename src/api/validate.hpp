#pragma once

#include <cstddef>

#include "api/status.hpp"
#include "plan/problem.hpp"

namespace tril::api {

/// Checks everything that can be checked without data, and makes the problem that the rest of the library
/// works with. Throws std::bad_alloc.
tril_status check_args(const tril_attention_args* args, planning::problem& problem);

/// Checks the pointers of one run against a checked problem. `data` is what read_sized made of the caller's.
tril_status check_data(const planning::problem& problem, const tril_attention_data& data,
                       std::size_t workspace_bytes) noexcept;

}  // namespace tril::api
