#pragma once

#include <vector>

#include "reference/row.hpp"

namespace tril::reference {

/// A row by the definition, in double, and how far a float32 result may be from it.
struct exact_row {
  std::vector<double> out;  // [value_dim]
  double lse;
  std::vector<double> out_bound;  // [value_dim]
  double lse_bound;
  bool undefined = false;  // a visible score is NaN or +inf: everything is NaN
};

/// The definition of attention, and the error bound that its own quantities justify: the forward error of the
/// dot product, one rounding per step between score and exponent, and of the weighted mean (see the comments
/// in attention.cpp). The bound holds for the fused and the unfused canonical order alike.
exact_row attention(const row& r);

}  // namespace tril::reference
