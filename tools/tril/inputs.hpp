#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "array.hpp"
#include "presets.hpp"
#include "tril/plan.hpp"

namespace tril::tool {

/// The axes of an array in a file.
struct axes {
  bool head_major = false;  // [batch][heads][tokens][dim] rather than [batch][tokens][heads][dim]
  bool batch = true;        // false: one sequence, without an axis for it
  bool heads = true;        // false: one head, without an axis for it
};

/// The contiguous layout of a tensor with such axes, and the shape of its array.
layout layout_of(const axes& order, std::int64_t batch, std::int64_t tokens, std::int64_t heads, std::int64_t dim);
std::vector<std::int64_t> shape_of(const axes& order, const layout& l);

/// q, k and v, made up or read.
struct inputs {
  std::string source;  // the name of the preset, or of the files
  axes order;
  layout q_layout, k_layout, v_layout;
  std::vector<float> q, k, v;
};

/// Values with the standard normal distribution, the same ones on every machine.
inputs make_inputs(const preset& model, std::int64_t tokens, std::uint64_t seed);

/// Arrays of 4 axes, 3 without the batch, or 2 without the heads either. Says so where values were converted. Without
/// values to read, v is empty and has the layout of k.
inputs read_inputs(const std::string& q_file, const std::string& k_file, const std::optional<std::string>& v_file,
                   bool head_major);

/// An array of any shape. Says so where values were converted.
array read_for(const char* flag, const std::string& file);

/// An array that must have the shape of a certain tensor.
std::vector<float> read_array_like(const char* flag, const std::string& file, const axes& order, const layout& wanted);

/// Throws bad_input, naming the flag, if that much memory is more than there is.
void check_memory(const char* flag, double bytes);

}  // namespace tril::tool
