#pragma once

#include <cstdint>
#include <vector>

#include "numeric/canon.hpp"
#include "reference/visible.hpp"

namespace tril::reference {

/// Keys or values of one head: vector j starts `stride` elements after vector j - 1.
struct vectors {
  const void* data;
  std::int64_t stride;
  const float* scales = nullptr;  // one per vector: the elements are int8 and stand for scale * element

  float stored(std::int64_t j, std::int64_t c) const {
    const std::int64_t at = j * stride + c;
    return scales ? static_cast<float>(static_cast<const std::int8_t*>(data)[at]) : static_cast<const float*>(data)[at];
  }
  double value(std::int64_t j, std::int64_t c) const {
    return scales ? static_cast<double>(scales[j]) * stored(j, c) : static_cast<double>(stored(j, c));
  }
};

struct key_interval {
  std::int64_t first, last;  // last is one behind
};

/// Everything that one output row depends on, the score modifiers of the canonical order included.
struct row {
  const float* q;
  vectors k, v;
  std::int64_t dim, value_dim, keys;
  std::int64_t position;
  std::vector<key_interval> visible;   // ascending, disjoint
  const std::uint8_t* mask = nullptr;  // [keys], nonzero = may attend; null: all
  float scale;                         // as rounded to float32
  float soft_cap = 0.0f;               // 0: none
  const float* bias = nullptr;         // [keys], -inf hides; null: none
  float slope = 0.0f;                  // ALiBi
  float sink = numeric::negative_infinity;

  bool allows(std::int64_t j) const {
    return (mask == nullptr || mask[j] != 0) && (bias == nullptr || bias[j] != numeric::negative_infinity);
  }

  /// Calls use(j) for every visible key, ascending.
  template <class Use>
  void for_each_visible(Use use) const {
    for (const auto& [first, last] : visible)
      for (std::int64_t j = first; j < last; ++j)
        if (allows(j)) use(j);
  }
};

/// The row of query head `head` at row i of a sequence.
row row_of(const problem& p, const run_data& data, std::int64_t sequence, std::int64_t i, std::int64_t head);

/// Offset of element [sequence][token][head][0].
inline std::int64_t offset_of(const layout& l, std::int64_t sequence, std::int64_t token, std::int64_t head) {
  return (sequence ? sequence * l.strides[0] : 0) + (token ? token * l.strides[1] : 0) +
         (head ? head * l.strides[2] : 0);
}

}  // namespace tril::reference
