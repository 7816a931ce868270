#include "inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "array.hpp"
#include "bad_input.hpp"
#include "machine.hpp"
#include "notice.hpp"
#include "numeric/canon.hpp"
#include "progress.hpp"

namespace tril::tool {
namespace {

/// Normally distributed numbers by Marsaglia's polar method over SplitMix64. Nothing but exactly rounded
/// operations and the library's own logarithm, hence the same bits everywhere, which std::normal_distribution
/// does not promise.
class normal_numbers {
 public:
  explicit normal_numbers(std::uint64_t seed) : state_(seed) {}

  void fill(std::vector<float>& values) {
    for (std::size_t i = 0; i < values.size(); i += 2) {
      double x, y, square;
      do {
        x = uniform();
        y = uniform();
        square = x * x + y * y;
      } while (square >= 1 || square == 0);
      const double factor = std::sqrt(-2 * numeric::ln64(square) / square);
      values[i] = static_cast<float>(x * factor);
      if (i + 1 < values.size()) values[i + 1] = static_cast<float>(y * factor);
    }
  }

 private:
  /// In [-1, 1).
  double uniform() { return static_cast<double>(static_cast<std::int64_t>(next()) >> 11) * 0x1p-52; }

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

std::size_t elements(const layout& l) {
  return static_cast<std::size_t>(l.extents[0] * l.extents[1] * l.extents[2] * l.extents[3]);
}

/// Where a shape of 4 axes has its heads.
std::ptrdiff_t heads_axis(const axes& order) { return order.head_major ? 1 : 2; }

}  // namespace

array read_for(const char* flag, const std::string& file) {
  array read = naming(flag, [&] { return read_array(file); });
  if (!read.conversion.empty()) say(fmt::format("{}: {}: {}", flag, file, read.conversion));
  return read;
}

layout layout_of(const axes& order, std::int64_t batch, std::int64_t tokens, std::int64_t heads, std::int64_t dim) {
  return order.head_major ? tril_bhtd(TRIL_F32, batch, heads, tokens, dim)
                          : tril_bthd(TRIL_F32, batch, tokens, heads, dim);
}

std::vector<std::int64_t> shape_of(const axes& order, const layout& l) {
  std::vector<std::int64_t> shape(std::begin(l.extents), std::end(l.extents));
  if (order.head_major) std::swap(shape[1], shape[2]);
  if (!order.heads) shape.erase(shape.begin() + heads_axis(order));
  if (!order.batch) shape.erase(shape.begin());
  return shape;
}

inputs make_inputs(const preset& model, std::int64_t tokens, std::uint64_t seed) {
  // q and out, k and v.
  const auto per_token = (model.q_heads + model.kv_heads) * (model.dim + model.value_dim);
  check_memory("--tokens", 4.0 * static_cast<double>(tokens) * static_cast<double>(per_token));
  inputs in;
  in.source = model.name;
  in.q_layout = layout_of(in.order, 1, tokens, model.q_heads, model.dim);
  in.k_layout = layout_of(in.order, 1, tokens, model.kv_heads, model.dim);
  in.v_layout = layout_of(in.order, 1, tokens, model.kv_heads, model.value_dim);
  const progress making("making q, k and v");
  normal_numbers numbers(seed);
  for (const auto& [values, l] : {std::pair(&in.q, in.q_layout), {&in.k, in.k_layout}, {&in.v, in.v_layout}}) {
    values->resize(elements(l));
    numbers.fill(*values);
  }
  return in;
}

inputs read_inputs(const std::string& q_file, const std::string& k_file, const std::optional<std::string>& v_file,
                   bool head_major) {
  inputs in;
  in.source = fmt::format("{} {}{}{}", q_file, k_file, v_file ? " " : "", v_file.value_or(""));
  in.order.head_major = head_major;
  struct tensor {
    const char* flag;
    const std::string& file;
    std::vector<float>& values;
    layout& l;
  };
  std::vector<tensor> tensors = {{"--q", q_file, in.q, in.q_layout}, {"--k", k_file, in.k, in.k_layout}};
  if (v_file) tensors.push_back({"--v", *v_file, in.v, in.v_layout});
  std::size_t q_rank = 0;
  for (const auto& t : tensors) {
    array read = read_for(t.flag, t.file);
    auto& shape = read.shape;
    if (q_rank == 0) q_rank = shape.size();
    if (shape.size() < 2 || shape.size() > 4)
      throw bad_input("{}: {}: its shape is {}, not of 4 axes, 3 without the batch, or 2 without heads", t.flag, t.file,
                      shape_text(shape));
    if (shape.size() != q_rank)
      throw bad_input("{}: {}: {} axes, but {} in --q {}", t.flag, t.file, shape.size(), q_rank, q_file);
    in.order.batch = q_rank == 4;
    in.order.heads = q_rank > 2;
    if (!in.order.batch) shape.insert(shape.begin(), 1);
    if (!in.order.heads) shape.insert(shape.begin() + heads_axis(in.order), 1);
    if (head_major) std::swap(shape[1], shape[2]);
    t.l = layout_of(in.order, shape[0], shape[1], shape[2], shape[3]);
    t.values = std::move(read.values);
  }
  if (!v_file) in.v_layout = in.k_layout;
  return in;
}

std::vector<float> read_array_like(const char* flag, const std::string& file, const axes& order, const layout& wanted) {
  array read = read_for(flag, file);
  if (const auto shape = shape_of(order, wanted); read.shape != shape)
    throw bad_input("{}: {}: its shape is {}, not {}", flag, file, shape_text(read.shape), shape_text(shape));
  return std::move(read.values);
}

void check_memory(const char* flag, double bytes) {
  const auto present = static_cast<double>(physical_memory());
  if (bytes > present)
    throw bad_input("{}: needs {:.0f} GB of memory, this machine has {:.0f}", flag, bytes / 1e9, present / 1e9);
}

}  // namespace tril::tool
