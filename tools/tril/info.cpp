#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <string>

#include "bad_input.hpp"
#include "command.hpp"
#include "dispatch/registry.hpp"
#include "machine.hpp"
#include "numeric/canon.hpp"
#include "table.hpp"
#include "tril/tril.hpp"

namespace tril::tool {
namespace {

const char* family_of(const contract::kernel_table& kernels) { return kernels.fused ? "fused" : "unfused"; }

/// The tile a kernel works in, as its name has it: "/12x32"; "" for those that take whole blocks.
std::string tile_of(std::string_view kernel, const contract::tile_sizes& tiles) {
  if (kernel == "qk") return fmt::format("/{}x{}", tiles.qk_rows, tiles.qk_panels * contract::panel_keys);
  if (kernel == "pv") return fmt::format("/{}x{}", tiles.pv_rows, tiles.pv_columns);
  return "";
}

std::string isas_text(std::string_view chosen, bool colours) {
  using enum table::align;
  table t({{"isa", left}, {"this machine", left}, {"arithmetic", left}, {"block"}, {"scores"}, {"values"}, {"", left}});
  for (const dispatch::isa& i : dispatch::built_isas()) {
    const auto& tiles = i.kernels->tiles;
    const bool is_chosen = i.kernels->name == chosen;
    t.add({{i.kernels->name},
           i.supported() ? table::cell{"runs it", tone::good} : table::cell{"does not", tone::faint},
           {family_of(*i.kernels)},
           {fmt::format("{} rows", tiles.block_rows)},
           {fmt::format("{} rows x {} keys", tiles.qk_rows, tiles.qk_panels * contract::panel_keys)},
           {fmt::format("{} rows x {} columns", tiles.pv_rows, tiles.pv_columns)},
           {is_chosen ? "<- chosen" : "", tone::good}});
  }
  return t.text(colours);
}

int run() {
  const context ctx;
  if (!ctx) throw bad_input("{}", ctx.status().message());
  std::string text = fmt::format("tril {}, arithmetic version {}\n", version(), numeric::arithmetic_version);
  text += fmt::format("{}, {} usable cores\n\n", cpu_model(), ctx.threads());
  text += isas_text(ctx.isa(), colours_wanted());
  text += fmt::format("\nkernels of {}:\n", ctx.isa());
  const auto& tiles = dispatch::find(ctx.isa())->kernels->tiles;
#define TRIL_KERNEL(field, label, ...) text += fmt::format("  {}/{}{}\n", ctx.isa(), label, tile_of(#field, tiles));
#include "contract/kernels.inc"
#undef TRIL_KERNEL
  fmt::print("{}", text);
  return 0;
}

}  // namespace

command add_info(CLI::App& parser) {
  CLI::App* flags = parser.add_subcommand("info", "Show the processor, the instruction sets and the kernels chosen");
  return {flags, run};
}

}  // namespace tril::tool
