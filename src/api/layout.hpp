#pragma once

/// Checks of tensor geometry, in 64-bit arithmetic that cannot overflow unnoticed.

#include <cstddef>

#include "api/status.hpp"
#include "contract/layout.hpp"

namespace tril::api {

enum class access { read, write };

/// Bad dtype, extents or strides; or an output whose elements overlap one another.
tril_status check_layout(const char* name, const tril_layout& l, access how,
                         std::int64_t max_dim = contract::max_dim) noexcept;

/// No elements at all: its data is never looked at.
bool is_empty(const tril_layout& l) noexcept;

/// A null or misaligned pointer to a tensor that has elements.
tril_status check_pointer(const char* name, const tril_layout& l, const void* data) noexcept;

/// A tensor in memory, for the question whether two of them share a byte.
struct placed {
  const char* name;
  const void* data;
  const tril_layout* layout;
};
tril_status check_disjoint(const placed& output, const placed& other) noexcept;

/// The same for a plain range of bytes.
tril_status check_disjoint(const placed& tensor, const char* name, const void* data, std::size_t bytes) noexcept;

}  // namespace tril::api
