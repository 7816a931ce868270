#include <cstring>

#include "api/context.hpp"
#include "api/sized.hpp"
#include "api/validate.hpp"
#include "plan/visible.hpp"
#include "run/kv_address.hpp"

using namespace tril;

tril_status tril_attention_cost(const tril_attention_args* args, tril_cost* callers) {
  return api::without_exceptions([&] {
    tril_cost cost = TRIL_COST_INIT;
    if (const tril_status s = api::read_sized(callers, "cost", sizeof cost, cost); s.code != TRIL_OK) return s;
    plan::problem p;
    if (const tril_status s = api::check_args(args, p); s.code != TRIL_OK) return s;

    std::int64_t pairs = 0, keys = 0, rows = 0;
    for (const plan::sequence& s : p.sequences) {
      if (s.rows == 0) continue;
      pairs += plan::visible_pairs(p.window, s, 0, s.rows) * p.q_heads;
      keys += plan::visible_keys(p.window, s, 0, s.rows).size() * p.kv_heads;
      rows += s.rows * p.q_heads;
    }
    const std::int64_t element = run::element_bytes(p.q.dtype);
    callers->visible_pairs = pairs;
    callers->flops = 2 * (p.dim + p.value_dim) * pairs;
    callers->kv_bytes = keys * (p.dim + p.value_dim) * element;
    callers->q_bytes = rows * p.dim * element;
    callers->out_bytes = rows * (p.value_dim * element + (p.with_lse ? 4 : 0));
    return api::ok();
  });
}
