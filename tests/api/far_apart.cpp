/// Elements further apart than 32 bits can say, in address space that costs no memory.

#include <sys/mman.h>

#include <algorithm>

#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// A copy of a tensor whose rows lie `step` elements apart along one axis, and close together along the others.
class sparse_copy {
 public:
  sparse_copy(const float_tensor& t, int axis, std::int64_t step)
      : layout_(tril_bthd(TRIL_F32, t.layout().extents[0], t.layout().extents[1], t.layout().extents[2],
                          t.layout().extents[3])),
        bytes_(static_cast<std::size_t>(layout_.extents[axis] * step) * sizeof(float)) {
    layout_.strides[axis] = step;
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(at != MAP_FAILED);
    data_ = static_cast<float*>(at);
    t.for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
      std::ranges::copy(t.row(batch, token, head), row(batch, token, head).begin());
    });
  }
  ~sparse_copy() { munmap(data_, bytes_); }
  sparse_copy(const sparse_copy&) = delete;
  sparse_copy& operator=(const sparse_copy&) = delete;

  mutable_tensor view() const { return {data_, layout_}; }
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

TEST_CASE("Strides beyond 32 bits are followed, in every tensor and on every axis") {
  const context ctx = context_under_test();
  // Cut to 32 bits, these would be 16, nothing, and, two steps on, a negative number; in elements or in bytes.
  for (const std::int64_t step : {(std::int64_t{1} << 32) + 16, std::int64_t{1} << 32, std::int64_t{1} << 30})
    for (const int axis : {0, 1, 2})
      for (const std::int64_t rows : {2, 20}) {
        const std::int64_t tokens = axis == 1 ? 3 : rows;
        workload w({.batch = 2, .rows = tokens, .keys = tokens, .q_heads = 2, .kv_heads = 2, .dim = 4, .value_dim = 6},
                   seed());
        require(verify(ctx, w));
        const float_tensor* const tensors[] = {&w.q, &w.k, &w.v, &w.out, &w.lse};
        const std::vector<float> out = w.out.elements(), lse = w.lse.elements();
        for (const std::size_t far : {0u, 1u, 2u, 3u, 4u}) {
          CAPTURE(step, axis, rows, far);
          w.out.reset(canary);
          w.lse.reset(canary);
          const sparse_copy sparse(*tensors[far], axis, step);
          mutable_tensor views[5];
          for (const std::size_t i : {0u, 1u, 2u, 3u, 4u})
            views[i] = i == far ? sparse.view() : mutable_tensor{tensors[i]->data(), tensors[i]->layout()};
          require(attention(ctx, views[0], views[1], views[2], views[3], {.lse = views[4]}));
          // An output that was far apart comes back to where the others are.
          if (far >= 3)
            tensors[far]->for_each_row([&](std::int64_t batch, std::int64_t token, std::int64_t head) {
              std::ranges::copy(sparse.row(batch, token, head), tensors[far]->row(batch, token, head).begin());
            });
          require(compare_bits(w.out.elements(), out, 6));
          require(compare_bits(w.lse.elements(), lse, 1));
        }
      }
}
