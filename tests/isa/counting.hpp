#pragma once

/// Included after a test instruction set has named its tiles: the generic kernels, with a step of its own that counts.

#include "isa/computed_pairs.hpp"
#include "kernels/generic/qk.hpp"

namespace tril::TRIL_ISA {
namespace {

/// A block's queries are its own to write, which makes this a better match for them than the generic step.
template <score_tile Kind, class Ahead>
inline void qk(int rows, float* q, const void* const* k, int panels, std::int64_t dim, float* scores, float* lane_max,
               Ahead ahead) {
  test::computed_pairs += std::int64_t{rows} * panels * panel_keys;
  qk<Kind>(rows, static_cast<const float*>(q), k, panels, dim, scores, lane_max, ahead);
}

}  // namespace
}  // namespace tril::TRIL_ISA

#include "kernels/generic/table.hpp"
