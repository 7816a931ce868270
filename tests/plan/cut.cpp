#include "plan/cut.hpp"

#include <set>
#include <tuple>

#include "plan/problems.hpp"
#include "plan/property.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// What prefill is cut from.
struct cutting {
  described_problem problem;
  std::int32_t block_rows;
  std::int64_t panel_bytes, packed_bytes_cap;

  plan::schedule cut() const { return plan::cut(problem.planned, block_rows, panel_bytes, packed_bytes_cap); }
};

std::ostream& operator<<(std::ostream& out, const cutting& c) {
  return out << c.problem << "; blocks of " << c.block_rows << " rows, panels of " << c.panel_bytes << " bytes, cap "
             << c.packed_bytes_cap;
}

rc::Gen<cutting> any_cutting() {
  return rc::gen::exec([] {
    return cutting{*any_problem(), *rc::gen::element(1, 2, 3, 5, 8, 12, 16, 48),
                   *rc::gen::inRange<std::int64_t>(1, 2000), *rc::gen::inRange<std::int64_t>(0, 200'000)};
  });
}

const plan::unit& unit_of(const plan::schedule& s, std::int32_t index) {
  return s.units.at(static_cast<std::size_t>(index));
}

std::int64_t pairs_of(const cutting& c, const plan::schedule& s, const plan::attend_task& t) {
  const described d = c.problem.sequence_of(unit_of(s, t.unit));
  std::int64_t pairs = 0;
  for (std::int64_t row = t.first_row; row < t.first_row + t.rows; ++row)
    for (std::int64_t key = 0; key < d.sequence.keys; ++key) pairs += d.sees(row, key);
  return pairs * t.heads;
}

}  // namespace

TEST_CASE("every row of every head is computed exactly once, in blocks that fit") {
  holds_for(300, [] {
    const cutting c = *any_cutting();
    const plan::schedule s = c.cut();
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> computed;  // sequence, query head, row
    for (const plan::wave& w : s.waves)
      for (const plan::attend_task& t : w.attend) {
        RC_ASSERT(t.rows >= 1 && t.heads >= 1);
        RC_ASSERT(t.rows * t.heads <= c.block_rows);
        RC_ASSERT(t.unit >= w.first_unit && t.unit < w.last_unit);
        const plan::unit& u = unit_of(s, t.unit);
        for (std::int64_t head = t.first_head; head < t.first_head + t.heads; ++head) {
          RC_ASSERT(head >= 0 && head < c.problem.planned.group());
          for (std::int64_t row = t.first_row; row < t.first_row + t.rows; ++row)
            RC_ASSERT(computed.insert({u.sequence, u.kv_head * c.problem.planned.group() + head, row}).second);
        }
      }
    std::size_t rows = 0;
    for (const plan::sequence& sequence : c.problem.planned.sequences)
      rows += static_cast<std::size_t>(sequence.rows * c.problem.planned.q_heads);
    for (const auto& [sequence, head, row] : computed) {
      RC_ASSERT(head < c.problem.planned.q_heads);
      RC_ASSERT(row < c.problem.sequence(sequence).sequence.rows);
    }
    RC_ASSERT(computed.size() == rows);
  });
}

TEST_CASE("a unit has the panels that its rows see, and packs each once if it packs any") {
  holds_for(300, [] {
    const cutting c = *any_cutting();
    const plan::schedule s = c.cut();
    for (const plan::unit& u : s.units) {
      const described d = c.problem.sequence_of(u);
      std::int64_t pairs = 0;
      std::set<std::int64_t> seen;
      for (std::int64_t row = 0; row < d.sequence.rows; ++row)
        for (std::int64_t key = 0; key < d.sequence.keys; ++key)
          if (d.sees(row, key)) {
            ++pairs;
            seen.insert(key / contract::panel_keys);
          }
      RC_ASSERT(u.pairs == pairs * c.problem.planned.group());
      RC_ASSERT(u.panels == static_cast<std::int64_t>(seen.size()));  // rows see neighbouring panels
      if (!seen.empty()) RC_ASSERT(u.first_panel == *seen.begin());
      if (!seen.empty()) RC_ASSERT(u.first_panel + u.panels == *seen.rbegin() + 1);
    }
    std::set<std::pair<std::int32_t, std::int64_t>> packed;
    for (const plan::wave& w : s.waves)
      for (const plan::pack_task& t : w.pack) {
        RC_ASSERT(t.unit >= w.first_unit && t.unit < w.last_unit);
        RC_ASSERT(t.panels >= 1);
        RC_ASSERT(unit_of(s, t.unit).packed);
        for (std::int64_t panel = t.first_panel; panel < t.first_panel + t.panels; ++panel) {
          RC_ASSERT(panel >= 0 && panel < unit_of(s, t.unit).panels);
          RC_ASSERT(packed.insert({t.unit, panel}).second);
        }
      }
    std::size_t panels = 0;
    for (const plan::unit& u : s.units) panels += u.packed ? static_cast<std::size_t>(u.panels) : 0;
    RC_ASSERT(packed.size() == panels);
  });
}

TEST_CASE("waves take the units in order, as many as the cap allows") {
  holds_for(500, [] {
    const cutting c = *any_cutting();
    const plan::schedule s = c.cut();
    const auto bytes = [&](std::int32_t unit) {
      const plan::unit& u = unit_of(s, unit);
      return u.packed ? u.panels * c.panel_bytes : 0;
    };
    for (const plan::unit& u : s.units) RC_ASSERT(u.packed == (u.panels * c.panel_bytes <= c.packed_bytes_cap));
    std::int32_t next = 0;
    for (const plan::wave& w : s.waves) {
      RC_ASSERT(w.first_unit == next);
      RC_ASSERT(w.last_unit > w.first_unit);
      next = w.last_unit;
      std::int64_t packed = 0;
      for (std::int32_t unit = w.first_unit; unit < w.last_unit; ++unit) packed += bytes(unit);
      RC_ASSERT(packed <= c.packed_bytes_cap);
      if (static_cast<std::size_t>(next) < s.units.size()) RC_ASSERT(packed + bytes(next) > c.packed_bytes_cap);
    }
    RC_ASSERT(static_cast<std::size_t>(next) == s.units.size());
  });
}

TEST_CASE("the heaviest work comes first") {
  holds_for(300, [] {
    const cutting c = *any_cutting();
    const plan::schedule s = c.cut();
    for (std::size_t i = 1; i < s.units.size(); ++i) RC_ASSERT(s.units[i - 1].pairs >= s.units[i].pairs);
    for (const plan::wave& w : s.waves)
      for (std::size_t i = 1; i < w.attend.size(); ++i) {
        const plan::attend_task &before = w.attend[i - 1], &task = w.attend[i];
        RC_ASSERT(before.unit <= task.unit);
        if (before.unit == task.unit) RC_ASSERT(pairs_of(c, s, before) >= pairs_of(c, s, task));
      }
  });
}

TEST_CASE("the cut depends on shapes alone") {
  holds_for(300, [] {
    const cutting c = *any_cutting();
    cutting other = c;
    other.problem.planned.scale = 3.0f;
    other.problem.planned.with_lse = !other.problem.planned.with_lse;
    for (tril_layout* l : {&other.problem.planned.q, &other.problem.planned.k, &other.problem.planned.v})
      l->strides[1] += 1000;
    const auto text = [](const plan::schedule& s) {
      std::ostringstream out;
      for (const plan::unit& u : s.units)
        out << u.sequence << ' ' << u.kv_head << ' ' << u.first_panel << ' ' << u.panels << '\n';
      for (const plan::wave& w : s.waves) {
        out << "wave " << w.first_unit << ' ' << w.last_unit << '\n';
        for (const plan::pack_task& t : w.pack) out << t.unit << ' ' << t.first_panel << ' ' << t.panels << '\n';
        for (const plan::attend_task& t : w.attend)
          out << t.unit << ' ' << t.first_head << ' ' << t.heads << ' ' << t.first_row << ' ' << t.rows << '\n';
      }
      return out.str();
    };
    RC_ASSERT(text(c.cut()) == text(other.cut()));
  });
}

TEST_CASE("a long sequence is packed in several tasks") {
  plan::problem p{};
  p.q_heads = p.kv_heads = 1;
  p.window = {plan::window::unbounded, 0};
  p.sequences = {{1, 100'000, 99'999}};
  const plan::schedule s = plan::cut(p, 16, 1, INT64_MAX);
  REQUIRE(s.waves.size() == 1);
  CHECK(s.waves[0].attend.size() == 1);
  CHECK(s.waves[0].pack.size() > 10);  // work for several threads even where there is only one head
}
