#pragma once

#include <memory>

#include "tril/context.hpp"
#include "tril/tensor.hpp"

namespace tril {

/// What a projection multiplies with. It is read while the projection is made, and may go away then.
struct linear {
  int64_t in = 0;                 ///< Elements of a row of x, 1 ... 2^24: heads times value_dim.
  int64_t out = 0;                ///< Elements of a row of y, 1 ... 2^24.
  const float* weight = nullptr;  ///< `[out][in]`
  int64_t out_stride = 0;         ///< From one output to the next, in elements, at least 0.
  int64_t in_stride = 0;          ///< From one input to the next, likewise. Both 0: contiguous.
  const float* bias = nullptr;    ///< `[out]`; null: none.
};

/// y = x W^T + bias, the layer behind the concatenation of the heads: make it once, run it on prefill and on every
/// decode step, from several threads if you like. A row has the same bits whichever rows come with it; see
/// tril_projection_args.
class projection {
 public:
  /// Errors: invalid_argument naming in, out, weight, weight_strides or bias; out_of_memory; the context's.
  projection(const context& ctx, const linear& l) noexcept {
    if (!ctx) {
      status_ = ctx.status();
      return;
    }
    tril_projection_args args = TRIL_PROJECTION_ARGS_INIT;
    args.in = l.in;
    args.out = l.out;
    args.weight = l.weight;
    args.weight_strides[0] = l.out_stride;
    args.weight_strides[1] = l.in_stride;
    args.bias = l.bias;
    tril_projection* raw = nullptr;
    status_ = tril_projection_create(ctx.raw(), &args, &raw);
    raw_.reset(raw);
  }

  /// Why it could not be made; true after success.
  const tril::status& status() const noexcept { return status_; }
  /// Whether it could be made.
  explicit operator bool() const noexcept { return static_cast<bool>(status_); }

  /// Projects the rows of x, `[batch][rows][heads][dim]` with heads times dim elements as many as `in`, to y,
  /// `[batch][rows][1][out]`, which must not overlap it.
  /// Errors: invalid_argument naming x or y; out_of_memory; executor_failed; why the projection could not be made.
  tril::status run(tensor x, mutable_tensor y) const noexcept {
    if (!raw_) return status_;
    tril_projection_data data = TRIL_PROJECTION_DATA_INIT;
    data.x_layout = x.layout;
    data.y_layout = y.layout;
    data.x = x.data;
    data.y = y.data;
    return tril_projection_run(raw_.get(), &data);
  }

 private:
  struct destroy {
    void operator()(tril_projection* raw) const noexcept { tril_projection_destroy(raw); }
  };
  tril::status status_;
  std::unique_ptr<tril_projection, destroy> raw_;
};

}  // namespace tril
