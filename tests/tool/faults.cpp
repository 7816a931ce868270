/// Instruction sets whose faults the tool must find: the scalar one with something wrong in each block of rows, of
/// attention and of a projection.

#include <bit>

#include "contract/table.hpp"

namespace tril {
namespace scalar {
extern const contract::kernel_table table;
}

namespace {

void spoil_bit(float& x) { x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) ^ 1u); }
void spoil_value(float& x) { x += 0.125f; }

template <void spoil(float&)>
void finish_wrongly(const contract::row_block& block) {
  scalar::table.finish_rows(block);
  spoil(*static_cast<float*>(block.rows[0].out));
}

template <void spoil(float&)>
void project_wrongly(const contract::project_args& args) {
  scalar::table.project(args);
  spoil(args.y[0][args.first_panel * contract::panel_keys]);
}

void leave_out_a_row(const contract::row_block& block) {
  contract::row_block others = block;
  --others.count;
  scalar::table.finish_rows(others);
}

void leave_out_a_panel(const contract::project_args& args) {
  contract::project_args others = args;
  --others.last_panel;
  scalar::table.project(others);
}

contract::kernel_table changed(const char* name, void (*finish_rows)(const contract::row_block&),
                               void (*project)(const contract::project_args&)) {
  contract::kernel_table table = scalar::table;
  table.name = name;
  table.finish_rows = finish_rows;
  table.project = project;
  return table;
}

}  // namespace

namespace wrong_bits {
extern const contract::kernel_table table;
const contract::kernel_table table = changed("wrong_bits", finish_wrongly<spoil_bit>, project_wrongly<spoil_bit>);
}  // namespace wrong_bits
namespace wrong_values {
extern const contract::kernel_table table;
const contract::kernel_table table = changed("wrong_values", finish_wrongly<spoil_value>, project_wrongly<spoil_value>);
}  // namespace wrong_values
namespace missing_rows {
extern const contract::kernel_table table;
const contract::kernel_table table = changed("missing_rows", leave_out_a_row, leave_out_a_panel);
}  // namespace missing_rows
namespace unsupported {
extern const contract::kernel_table table;
const contract::kernel_table table = changed("unsupported", nullptr, nullptr);
}  // namespace unsupported

namespace dispatch {
bool supports_wrong_bits() noexcept { return true; }
bool supports_wrong_values() noexcept { return true; }
bool supports_missing_rows() noexcept { return true; }
bool supports_unsupported() noexcept { return false; }
}  // namespace dispatch
}  // namespace tril
