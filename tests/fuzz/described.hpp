#pragma once

/// Tensors, structs and lists as fuzz targets describe them, and the memory behind them.

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "choices.hpp"
#include "held.hpp"
#include "support/generators.hpp"
#include "support/guarded.hpp"
#include "tril/tril.h"

namespace tril::test {

enum class access { read, write };

/// Some layout of the given extents that the contract allows.
inline tril_layout some_layout(choices& c, const std::array<std::int64_t, 4>& extents, access how) {
  constexpr int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  tril_layout l = {TRIL_F32, 0, {}, {0, 0, 0, 1}};
  std::ranges::copy(extents, l.extents);
  const int(&order)[3] = orders[c.below(std::size(orders))];
  const std::int64_t options = c.byte();
  std::int64_t step = extents[3] + options % 4;
  for (int i = 2; i >= 0; --i) {
    const int axis = order[i];
    const bool reversed = (options >> (4 + axis) & 1) != 0;
    l.strides[axis] = reversed ? -step : step;
    step *= std::max<std::int64_t>(extents[static_cast<std::size_t>(axis)], 1);
  }
  if (how == access::read && (options >> 2 & 3) == 3) l.strides[c.below(3)] = 0;
  return l;
}

/// Puts any number into one field.
inline void spoil(choices& c, tril_layout& l) {
  const auto field = static_cast<std::size_t>(c.below(10));
  const std::int64_t value = c.any();
  if (field < 4)
    l.extents[field] = value;
  else if (field < 8)
    l.strides[field - 4] = value;
  else
    (field == 8 ? l.dtype : l.reserved) = static_cast<std::int32_t>(value);
}

inline bool has_elements(const tril_layout& l) {
  return std::ranges::all_of(l.extents, [](std::int64_t extent) { return extent > 0; });
}

/// Elements below and above the first one that a layout reaches; as double, which holds any.
struct reach {
  double below = 0, above = 0;
};
inline reach reach_of(const tril_layout& l) {
  reach r;
  for (int i = 0; i < 4; ++i) {
    const double distance = (static_cast<double>(l.extents[i]) - 1) * static_cast<double>(l.strides[i]);
    if (l.extents[i] > 1) (distance < 0 ? r.below : r.above) += distance;
  }
  return r;
}

/// Guarded memory of a tensor, which remembers what it held.
class tensor_memory {
 public:
  static constexpr double most_elements = 1 << 16;
  static bool fits(const tril_layout& l) {
    const reach r = reach_of(l);
    return !has_elements(l) || r.above - r.below < most_elements;
  }

  tensor_memory(const tril_layout& l, touching where, std::uint32_t fill)
      : layout_(l), memory_(bytes_of(l), where, fill) {
    if (has_elements(l))
      first_ = reinterpret_cast<float*>(memory_.data()) + static_cast<std::int64_t>(-reach_of(l).below);
  }

  const tril_layout& layout() const { return layout_; }
  float* first() const { return first_; }
  std::span<std::uint32_t> words() const { return memory_.reachable_words(); }

  void remember() { before_.assign(words().begin(), words().end()); }
  /// Puts back what a word held.
  void restore(std::uint32_t* word) { *word = before_[static_cast<std::size_t>(word - words().data())]; }
  bool is_unchanged() const { return std::ranges::equal(words(), before_); }

  void allow(int protection) const {
    if (!words().empty()) must_hold(mprotect(words().data(), words().size_bytes(), protection) == 0, "mprotect");
  }

  /// Random numbers, which are finite, into the elements for which used(sequence, token).
  template <class Used>
  void fill(std::uint32_t seed, Used used) {
    lcg random(seed);
    for_each_row(layout_, first_, [&](std::int64_t sequence, std::int64_t token, std::int64_t, float* row) {
      if (used(sequence, token))
        for (std::int64_t i = 0; i < layout_.extents[3]; ++i) row[i * layout_.strides[3]] = random.unit();
    });
  }

  /// Calls use(sequence, token, head, address of the row) for every row of a layout.
  template <class Use>
  static void for_each_row(const tril_layout& l, float* first, Use use) {
    if (!has_elements(l)) return;
    const auto step = [&](int axis, std::int64_t i) { return i == 0 ? 0 : i * l.strides[axis]; };
    for (std::int64_t sequence = 0; sequence < l.extents[0]; ++sequence)
      for (std::int64_t token = 0; token < l.extents[1]; ++token)
        for (std::int64_t head = 0; head < l.extents[2]; ++head)
          use(sequence, token, head, first + step(0, sequence) + step(1, token) + step(2, head));
  }

 private:
  static std::size_t bytes_of(const tril_layout& l) {
    if (!has_elements(l)) return 0;
    const reach r = reach_of(l);
    return static_cast<std::size_t>(r.above - r.below + 1) * sizeof(float);
  }

  tril_layout layout_;
  guarded_memory memory_;
  float* first_ = nullptr;
  std::vector<std::uint32_t> before_;
};

/// A struct of the size that it says, right before an unreadable page.
template <class T>
class sized {
 public:
  sized(choices& c, T value) : sized(c.one_in(16) ? c.below(6) : 0, value) {}

  const T* get() const { return reinterpret_cast<const T*>(memory_.data()); }
  bool is_whole() const { return how_ != says_nothing && how_ != too_small; }
  bool is_known() const { return how_ != unknown_field; }

 private:
  enum : std::int64_t { exact, zero_tail, unknown_field, says_nothing, too_small, kinds };

  sized(std::int64_t how, T value) : how_(how % kinds), memory_(bytes(), touching::end, 0) {
    value.struct_size = how_ == says_nothing ? 0 : how_ == too_small ? sizeof(T) - 1 : bytes();
    std::memcpy(memory_.data(), &value, sizeof value);
    if (how_ == unknown_field) memory_.data()[bytes() - 1] = std::byte{1};
  }
  std::size_t bytes() const { return sizeof(T) + (how_ == zero_tail || how_ == unknown_field ? sizeof(void*) : 0); }

  std::int64_t how_;
  guarded_memory memory_;
};

/// A code that exists, and a sentence exactly where it is not success.
inline void must_be_a_status(const tril_status& s) {
  must_hold(s.code >= TRIL_OK && s.code <= TRIL_EXECUTOR_FAILED, "the code exists");
  must_hold(std::memchr(s.message, '\0', sizeof s.message) != nullptr, "the message ends");
  must_hold((s.code == TRIL_OK) == (s.message[0] == '\0'), "a failure has a message, and success has none");
}

}  // namespace tril::test
