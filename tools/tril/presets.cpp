#include "presets.hpp"

#include <algorithm>

namespace tril::tool {
namespace {

// From the models' published configurations. Soft caps are not applied.
constexpr preset table[] = {
    {"qwen3-0.6b", 16, 8, 128, 128},
    {"qwen3-8b", 32, 8, 128, 128},
    {"llama-3.1-8b", 32, 8, 128, 128},
    {.name = "mistral-7b", .q_heads = 32, .kv_heads = 8, .dim = 128, .value_dim = 128, .window_left = 4095},
    {"gemma-2-9b", 16, 8, 256, 256},  // a layer without a window
    {"phi-3-mini", 32, 32, 96, 96},
    {"gpt-2", 12, 12, 64, 64},
    {.name = "bert-base", .q_heads = 12, .kv_heads = 12, .dim = 64, .value_dim = 64, .causal = false},
    {.name = "whisper-small", .q_heads = 12, .kv_heads = 12, .dim = 64, .value_dim = 64, .causal = false},  // encoder
    // Latent attention with the up-projections absorbed: a shared latent of 512 and 64 rotary dimensions; scores
    // are scaled as those of the 128 + 64 dimensions that they stand for, 1 / sqrt(192).
    {.name = "deepseek-v3", .q_heads = 128, .kv_heads = 1, .dim = 576, .value_dim = 512, .scale = 0.0721687824f},
};

}  // namespace

std::span<const preset> presets() { return table; }

const preset* find_preset(std::string_view name) {
  const auto found = std::find_if(std::begin(table), std::end(table), [&](const preset& p) { return p.name == name; });
  return found == std::end(table) ? nullptr : found;
}

}  // namespace tril::tool
