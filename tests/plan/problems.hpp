#pragma once

#include <ostream>

#include "plan/cut.hpp"
#include "plan/described.hpp"

namespace tril::test {

/// A problem to cut.
struct described_problem {
  bool causal;
  planning::problem planned;

  described sequence(std::int64_t i) const {
    return {causal, planned.window.left, planned.window.right, planned.sequences[static_cast<std::size_t>(i)]};
  }
  described sequence_of(const planning::unit& u) const { return sequence(u.sequence); }
};

inline std::ostream& operator<<(std::ostream& out, const described_problem& p) {
  out << p.planned.kv_heads << " KV heads, groups of " << p.planned.group();
  for (std::size_t i = 0; i < p.planned.sequences.size(); ++i) out << "; " << p.sequence(static_cast<std::int64_t>(i));
  return out;
}

inline rc::Gen<described_problem> any_problem() {
  return rc::gen::exec([] {
    described_problem p{};
    const described window = *any_description(0, 0);
    p.causal = window.causal;
    p.planned.window = window.planned();
    p.planned.kv_heads = *rc::gen::inRange<std::int64_t>(1, 5);
    p.planned.q_heads = p.planned.kv_heads * *rc::gen::inRange<std::int64_t>(1, 8);
    // Many rows of few keys, and few rows of more keys than one task packs.
    p.planned.sequences = *rc::gen::container<std::vector<planning::sequence>>(
        rc::gen::oneOf(any_sequence(30, 80), any_sequence(3, 3000)));
    if (p.planned.sequences.size() > 6) p.planned.sequences.resize(6);
    return p;
  });
}

}  // namespace tril::test
