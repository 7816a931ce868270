#include <initializer_list>

#include "api/context.hpp"
#include "api/sized.hpp"
#include "api/validate.hpp"
#include "plan/visible.hpp"
#include "run/kv_address.hpp"

using namespace tril;

namespace {

/// A sum of products that knows when it no longer fits.
struct counter {
  std::int64_t count = 0;
  bool overflow = false;

  void add(std::initializer_list<std::int64_t> factors) {
    std::int64_t product = 1;
    for (const std::int64_t factor : factors) overflow |= __builtin_mul_overflow(product, factor, &product);
    overflow |= __builtin_add_overflow(count, product, &count);
  }
};

}  // namespace

tril_status tril_attention_cost(const tril_attention_args* args, tril_cost* callers) {
  return api::without_exceptions([&] {
    tril_cost cost = TRIL_COST_INIT;
    if (const tril_status s = api::read_sized(callers, "cost", sizeof cost, cost); s.code != TRIL_OK) return s;
    planning::problem p;
    if (const tril_status s = api::check_args(args, p); s.code != TRIL_OK) return s;

    // Pairs and flops fit, check_args has seen to it; bytes of keys that overlap in memory need not.
    counter pairs, keys, rows;
    for (const planning::sequence& s : p.sequences) {
      if (s.rows == 0) continue;
      pairs.add({planning::visible_pairs(p.window, s, 0, s.rows), p.q_heads});
      keys.add({planning::visible_keys(p.window, s, 0, s.rows).size(), p.kv_heads});
      rows.add({s.rows, p.q_heads});
    }
    counter flops, kv_bytes, q_bytes, out_bytes;
    flops.add({2 * (p.dim + p.value_dim), pairs.count});
    kv_bytes.add({keys.count, p.dim + p.value_dim, run::element_bytes(p.k.dtype)});
    q_bytes.add({rows.count, p.dim, run::element_bytes(p.q.dtype)});
    out_bytes.add({rows.count, p.value_dim * run::element_bytes(p.out.dtype) + (p.with_lse ? 4 : 0)});
    for (const counter& c : {pairs, keys, rows, flops, kv_bytes, q_bytes, out_bytes})
      if (c.overflow) return api::failure(TRIL_INVALID_ARGUMENT, "cost: a count overflows 64 bits");
    callers->visible_pairs = pairs.count;
    callers->flops = flops.count;
    callers->kv_bytes = kv_bytes.count;
    callers->q_bytes = q_bytes.count;
    callers->out_bytes = out_bytes.count;
    return api::ok();
  });
}
