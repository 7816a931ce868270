#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "support/guarded.hpp"
#include "tril/tensor.hpp"

namespace tril::test {

/// How a tensor lies in memory.
struct storage {
  std::array<std::size_t, 3> order = {0, 1, 2};  ///< Batch 0, tokens 1, heads 2, from the outermost in.
  std::array<bool, 3> reversed = {};             ///< Axes whose stride is negative.
  std::int64_t padding = 0;                      ///< Elements between rows.
  std::int64_t lead = 0;                         ///< Elements in front of the first.
  touching where = touching::end;
};

inline constexpr storage token_major = {};
inline constexpr storage head_major = {.order = {0, 2, 1}};

/// A float32 tensor [batch][tokens][heads][dim] in guarded memory. Whatever is no element holds the fill.
class float_tensor {
 public:
  float_tensor(std::array<std::int64_t, 4> extents, const storage& how, std::uint32_t fill);

  const tril::layout& layout() const { return layout_; }
  float* data() const { return reinterpret_cast<float*>(memory_.data()) + origin_; }
  std::span<float> row(std::int64_t batch, std::int64_t token, std::int64_t head) const;
  float& at(std::int64_t batch, std::int64_t token, std::int64_t head, std::int64_t c) const;

  /// Calls use(batch, token, head) for every row, in the order of [batch][tokens][heads].
  template <class Use>
  void for_each_row(Use use) const {
    const auto& extents = layout_.extents;
    for (std::int64_t batch = 0; batch < extents[0]; ++batch)
      for (std::int64_t token = 0; token < extents[1]; ++token)
        for (std::int64_t head = 0; head < extents[2]; ++head) use(batch, token, head);
  }

  /// All elements, in the order of [batch][tokens][heads][dim] whatever the storage.
  std::vector<float> elements() const;

  void reset(std::uint32_t fill);

  /// Whether every word but the elements of rows for which `written(batch, token)` still holds the fill, and no
  /// element of those does.
  bool holds_fill_except(const std::function<bool(std::int64_t, std::int64_t)>& written) const;

 private:
  tril::layout layout_;
  std::int64_t origin_ = 0;  // of element [0][0][0][0] in the memory
  std::uint32_t fill_;
  guarded_memory memory_;
};

}  // namespace tril::test
