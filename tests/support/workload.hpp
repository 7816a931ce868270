#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/generators.hpp"
#include "support/tensor.hpp"
#include "tril/attention.hpp"

namespace tril::test {

/// What a test asks for. With a seed, it says everything about a problem and its data.
struct recipe {
  std::int64_t batch = 1, rows = 1, keys = 1, q_heads = 1, kv_heads = 1, dim = 16, value_dim = 16;
  bool causal = true;
  tril::window window = {};
  std::optional<float> scale = {};
  std::vector<std::int32_t> q_lengths = {}, kv_lengths = {}, query_offset = {};
  values q = values::uniform, k = values::uniform, v = values::uniform;
  storage q_storage = {}, k_storage = {}, v_storage = {}, out_storage = {}, lse_storage = {};
};

std::string describe(const recipe& r);

/// A small recipe with everything in it that the interface offers; `values` of every kind.
recipe random_recipe(std::uint32_t seed);

/// Any storage that a tensor may have.
storage random_storage(lcg& random);

/// A problem with its data. Every array is in guarded memory, and everything that no row needs is poisoned: rows and
/// keys beyond the lengths, keys that no row sees, the gaps between strides.
class workload {
 public:
  workload(const recipe& r, std::uint32_t seed);

  const recipe& made_from() const { return recipe_; }
  /// The recipe, its seed, and how to repeat it.
  std::string text() const;

  tril::problem problem() const;
  tril::run_data data() const;
  /// Rows of sequence i, by its own length.
  std::int64_t rows_of(std::int64_t sequence) const;

  /// Calls use(sequence, row, head) for every row that exists.
  template <class Use>
  void for_each_row(Use use) const {
    out.for_each_row([&](std::int64_t sequence, std::int64_t row, std::int64_t head) {
      if (row < rows_of(sequence)) use(sequence, row, head);
    });
  }

  /// Fills the outputs with canaries and calls tril::attention.
  status run(const context& ctx);

  float_tensor q, k, v, out, lse;
  guarded<std::int32_t> q_lengths, kv_lengths, query_offset;

 private:
  recipe recipe_;
  std::uint32_t seed_;
};

}  // namespace tril::test
