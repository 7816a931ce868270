#include "support/tensor.hpp"

#include <cstring>

namespace tril::test {
namespace {

/// Sets the strides, and returns how many elements the tensor spans.
std::int64_t lay_out(tril::layout& l, const storage& how) {
  std::int64_t step = l.extents[3] + how.padding;
  for (auto axis = how.order.rbegin(); axis != how.order.rend(); ++axis) {
    l.strides[*axis] = how.reversed[*axis] ? -step : step;
    step *= l.extents[*axis];
  }
  return step > 0 ? step - how.padding : 0;
}

}  // namespace

float_tensor::float_tensor(std::array<std::int64_t, 4> extents, const storage& how, std::uint32_t fill)
    : layout_(tril_bthd(TRIL_F32, extents[0], extents[1], extents[2], extents[3])),
      origin_(how.lead),
      fill_(fill),
      memory_(static_cast<std::size_t>(how.lead + lay_out(layout_, how)) * sizeof(float), how.where, fill) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (how.reversed[axis] && layout_.extents[axis] > 0) origin_ -= (layout_.extents[axis] - 1) * layout_.strides[axis];
}

std::span<float> float_tensor::row(std::int64_t batch, std::int64_t token, std::int64_t head) const {
  const auto& strides = layout_.strides;
  return {data() + batch * strides[0] + token * strides[1] + head * strides[2],
          static_cast<std::size_t>(layout_.extents[3])};
}

float& float_tensor::at(std::int64_t batch, std::int64_t token, std::int64_t head, std::int64_t c) const {
  return row(batch, token, head).data()[c];  // c may be outside, where tests look for damage
}

std::vector<float> float_tensor::elements() const {
  std::vector<float> all;
  for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
    const std::span<float> r = row(batch, token, head);
    all.insert(all.end(), r.begin(), r.end());
  });
  return all;
}

void float_tensor::reset(std::uint32_t fill) {
  fill_ = fill;
  memory_.reset(fill);
}

bool float_tensor::holds_fill_except(const std::function<bool(std::int64_t, std::int64_t)>& written) const {
  const std::span<std::uint32_t> words = memory_.reachable_words();
  std::vector<bool> expected(words.size(), false);
  const auto* first = reinterpret_cast<const float*>(words.data());
  for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
    if (!written(batch, token)) return;
    const auto at = static_cast<std::size_t>(row(batch, token, head).data() - first);
    for (std::size_t c = 0; c < static_cast<std::size_t>(layout_.extents[3]); ++c) expected[at + c] = true;
  });
  for (std::size_t i = 0; i < words.size(); ++i)
    if ((words[i] != fill_) != expected[i]) return false;
  return true;
}

}  // namespace tril::test
