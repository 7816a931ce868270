/// Elements further apart than 32 bits can say, in address space that costs no memory.

#include <sys/mman.h>

#include <algorithm>

#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// A tensor whose rows lie `step` elements apart along one axis and close together along the others.
class sparse_tensor {
 public:
  sparse_tensor(std::array<std::int64_t, 4> extents, int axis, std::int64_t step)
      : layout_(tril_bthd(TRIL_F32, extents[0], extents[1], extents[2], extents[3])),
        bytes_(static_cast<std::size_t>(extents[static_cast<std::size_t>(axis)] * step) * sizeof(float)) {
    layout_.strides[axis] = step;
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(at != MAP_FAILED);
    data_ = static_cast<float*>(at);
  }
  ~sparse_tensor() { munmap(data_, bytes_); }
  sparse_tensor(const sparse_tensor&) = delete;
  sparse_tensor& operator=(const sparse_tensor&) = delete;

  operator mutable_tensor() const { return {data_, layout_}; }
  operator tensor() const { return {data_, layout_}; }
  std::span<float> row(std::int64_t batch, std::int64_t token, std::int64_t head) const {
    return {data_ + batch * layout_.strides[0] + token * layout_.strides[1] + head * layout_.strides[2],
            static_cast<std::size_t>(layout_.extents[3])};
  }

 private:
  tril::layout layout_;
  std::size_t bytes_;
  float* data_;
};

}  // namespace

TEST_CASE("Strides beyond 32 bits are followed on every axis") {
  const context ctx = context_under_test();
  // Truncated to 32 bits, these would be 16, 0 and a negative number, in elements or in bytes.
  for (const std::int64_t step : {(std::int64_t{1} << 32) + 16, std::int64_t{1} << 32, std::int64_t{1} << 30})
    for (const int axis : {0, 1, 2})
      for (const std::int64_t rows : {2, 20}) {
        CAPTURE(step, axis, rows);
        workload close({.batch = 2,
                        .rows = axis == 1 ? 2 : rows,
                        .keys = axis == 1 ? 3 : 20,
                        .q_heads = 2,
                        .kv_heads = 2,
                        .dim = 4,
                        .value_dim = 6},
                       seed());
        require(verify(ctx, close));
        const auto copy_of = [&](const float_tensor& t) {
          const auto& e = t.layout().extents;
          return std::array<std::int64_t, 4>{e[0], e[1], e[2], e[3]};
        };
        const sparse_tensor q(copy_of(close.q), axis, step), k(copy_of(close.k), axis, step);
        const sparse_tensor v(copy_of(close.v), axis, step), out(copy_of(close.out), axis, step);
        const sparse_tensor lse(copy_of(close.lse), axis, step);
        const auto copy = [](const float_tensor& from, const sparse_tensor& to) {
          from.for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
            std::ranges::copy(from.row(batch, token, head), to.row(batch, token, head).begin());
          });
        };
        copy(close.q, q);
        copy(close.k, k);
        copy(close.v, v);
        require(attention(ctx, q, k, v, out, {.lse = lse}));
        close.out.for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
          require(compare_bits(out.row(batch, token, head), close.out.row(batch, token, head), 6));
          require(compare_bits(lse.row(batch, token, head), close.lse.row(batch, token, head), 1));
        });
      }
}
