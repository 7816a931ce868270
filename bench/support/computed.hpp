#pragma once

#include "contract/table.hpp"
#include "tril/tril.h"

namespace tril::bench {

/// Score pairs that prefill computes over those that are visible: what whole tiles cost at the edges.
double computed_over_visible(const tril_attention_args& args, const contract::kernel_table& kernels);

}  // namespace tril::bench
