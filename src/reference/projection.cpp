#include "reference/projection.hpp"

#include <cmath>

#include "numeric/canon.hpp"

namespace tril::reference {

/// A product is rounded at most once by itself and once per sum that it goes into, `in` of them and the bias's:
/// |error| <= gamma (sum |x w| + |bias|) with gamma = n u / (1 - n u), n = in + 2 (Higham, "Accuracy and Stability
/// of Numerical Algorithms", section 3.1), and half a subnormal for each product or sum that underflows.
exact_projection projection(const projected_row& r) {
  constexpr double u = 0x1p-24, smallest = 0x1p-149;
  const double n = static_cast<double>(r.in) + 2, gamma = n * u / (1 - n * u);
  exact_projection result;
  for (std::int64_t o = 0; o < r.out; ++o) {
    double sum = r.bias ? static_cast<double>(r.bias[o]) : 0.0, size = std::abs(sum);
    for (std::int64_t c = 0; c < r.in; ++c) {
      const double product = static_cast<double>(r.x[c]) * static_cast<double>(r.weight[o * r.in + c]);
      sum += product;
      size += std::abs(product);
    }
    result.y.push_back(sum);
    result.bound.push_back(gamma * size + n * smallest);
  }
  return result;
}

template <bool Fused>
std::vector<float> canonical_projection(const projected_row& r) {
  std::vector<float> y;
  for (std::int64_t o = 0; o < r.out; ++o) {
    float s = 0.0f;
    for (std::int64_t c = 0; c < r.in; ++c) s = numeric::fma<Fused>(r.x[c], r.weight[o * r.in + c], s);
    if (r.bias) s = s + r.bias[o];
    y.push_back(numeric::canonical(s + 0.0f));
  }
  return y;
}

template std::vector<float> canonical_projection<true>(const projected_row& r);
template std::vector<float> canonical_projection<false>(const projected_row& r);

}  // namespace tril::reference
