#include "plan/predicate.hpp"

#include "reference/visible.hpp"

bool tril::test::predicate::sees(std::int64_t row, std::int64_t key) const {
  problem p;
  p.visibility.causal = causal;
  p.visibility.window = {left, right};
  return reference::visible(p, {rows, keys, first_position}, row, key);
}
