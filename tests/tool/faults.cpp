/// Instruction sets whose faults the tool must find: the scalar one with something wrong in each finished row.

#include <bit>

#include "contract/table.hpp"

namespace tril {
namespace scalar {
extern const contract::kernel_table table;
}

namespace {

void finish_with_wrong_bits(const contract::row_block& block) {
  scalar::table.finish_rows(block);
  auto* out = static_cast<float*>(block.rows[0].out);
  *out = std::bit_cast<float>(std::bit_cast<std::uint32_t>(*out) ^ 1u);
}

void finish_with_wrong_values(const contract::row_block& block) {
  scalar::table.finish_rows(block);
  *static_cast<float*>(block.rows[0].out) += 0.125f;
}

void leave_out_a_row(const contract::row_block& block) {
  contract::row_block others = block;
  --others.count;
  scalar::table.finish_rows(others);
}

contract::kernel_table changed(const char* name, void (*finish_rows)(const contract::row_block&)) {
  contract::kernel_table table = scalar::table;
  table.name = name;
  table.finish_rows = finish_rows;
  return table;
}

}  // namespace

namespace wrong_bits {
extern const contract::kernel_table table;
const contract::kernel_table table = changed("wrong_bits", finish_with_wrong_bits);
}  // namespace wrong_bits
namespace wrong_values {
extern const contract::kernel_table table;
const contract::kernel_table table = changed("wrong_values", finish_with_wrong_values);
}  // namespace wrong_values
namespace missing_rows {
extern const contract::kernel_table table;
const contract::kernel_table table = changed("missing_rows", leave_out_a_row);
}  // namespace missing_rows
namespace unsupported {
extern const contract::kernel_table table;
const contract::kernel_table table = changed("unsupported", nullptr);
}  // namespace unsupported

namespace dispatch {
bool supports_wrong_bits() noexcept { return true; }
bool supports_wrong_values() noexcept { return true; }
bool supports_missing_rows() noexcept { return true; }
bool supports_unsupported() noexcept { return false; }
}  // namespace dispatch
}  // namespace tril
