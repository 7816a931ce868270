#pragma once

#include "reference/projection.hpp"
#include "reference/row.hpp"

namespace tril::reference {

/// What a textbook writes, in float32: the baseline of every speed-up. Compiled twice from one source: as it
/// stands and without vectorisation.
///   masked     scores of all keys, -inf where the row does not look, softmax over all
///   truncated  the same, but it stops at the row's last visible key
/// `scores` holds one value per key of the sequence; the row must have at most one visible interval and no
/// modifiers. A row that sees nothing gives zeros. And a linear layer, likewise: y [out].
namespace plain {
void naive_masked(const row& r, float* scores, float* out);
void naive_truncated(const row& r, float* scores, float* out);
void naive_projection(const projected_row& r, float* y);
}  // namespace plain
namespace vectorised {
void naive_masked(const row& r, float* scores, float* out);
void naive_truncated(const row& r, float* scores, float* out);
void naive_projection(const projected_row& r, float* y);
}  // namespace vectorised

}  // namespace tril::reference
