#include "plan/cut.hpp"

#include <map>
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
  planning::prefill_sizes sizes;

  planning::schedule cut() const { return planning::cut(problem.planned, sizes); }
};

std::ostream& operator<<(std::ostream& out, const cutting& c) {
  return out << c.problem << "; blocks of " << c.sizes.block_rows << " rows, panels of " << c.sizes.panel_bytes
             << " bytes, states of " << c.sizes.state_bytes << " bytes, " << c.sizes.cached << " cached, cap "
             << c.sizes.cap;
}

rc::Gen<cutting> any_cutting() {
  return rc::gen::exec([] {
    return cutting{*any_problem(),
                   {.block_rows = *rc::gen::element(1, 2, 3, 5, 8, 12, 16, 48),
                    .panel_bytes = *rc::gen::inRange<std::int64_t>(1, 2000),
                    .state_bytes = *rc::gen::inRange<std::int64_t>(1, 500),
                    .cached = *rc::gen::inRange<std::int64_t>(0, 300'000),
                    .least_tasks = *rc::gen::inRange<std::int64_t>(0, 30),
                    .cap = *rc::gen::inRange<std::int64_t>(0, 1'000'000)}};
  });
}

const planning::unit& unit_of(const planning::schedule& s, std::int32_t index) {
  return s.units.at(static_cast<std::size_t>(index));
}

std::int64_t pairs_of(const cutting& c, const planning::schedule& s, const planning::attend_task& t) {
  const described d = c.problem.sequence_of(unit_of(s, t.unit));
  std::int64_t pairs = 0;
  for (std::int64_t row = t.first_row; row < t.first_row + t.rows; ++row)
    for (std::int64_t key = 0; key < d.sequence.keys; ++key) pairs += d.sees(row, key);
  return pairs * t.heads;
}

}  // namespace

TEST_CASE("every row of every head goes once through the panels that it sees, in blocks that fit") {
  holds_for(300, [] {
    const cutting c = *any_cutting();
    const planning::schedule s = c.cut();
    // Per sequence, query head and row: the panel that it has come to, and whether that was the last.
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::pair<std::int64_t, bool>> come_to;
    for (const planning::wave& w : s.waves)
      for (std::int64_t round = 0; round < w.rounds; ++round)
        for (const planning::attend_task& t : w.attend) {
          RC_ASSERT(t.rows >= 1 && t.heads >= 1);
          RC_ASSERT(t.rows * t.heads <= c.sizes.block_rows);
          RC_ASSERT(t.unit >= w.first_unit && t.unit < w.last_unit);
          const planning::unit& u = unit_of(s, t.unit);
          RC_ASSERT(t.first_row >= u.first_row && t.first_row + t.rows <= u.first_row + u.rows);
          const planning::interval panels = planning::panels_in_round(w, u, round);
          for (std::int64_t head = t.first_head; head < t.first_head + t.heads; ++head) {
            RC_ASSERT(head >= 0 && head < c.problem.planned.group());
            for (std::int64_t row = t.first_row; row < t.first_row + t.rows; ++row) {
              const auto [before, first_time] = come_to.insert(
                  {{u.sequence, u.kv_head * c.problem.planned.group() + head, row}, {panels.first, false}});
              RC_ASSERT(first_time == (round == 0));
              RC_ASSERT(before->second == std::pair(panels.first, false));
              before->second = {panels.last, round + 1 == w.rounds};
            }
          }
        }
    std::size_t rows = 0;
    for (const planning::sequence& sequence : c.problem.planned.sequences)
      rows += static_cast<std::size_t>(sequence.rows * c.problem.planned.q_heads);
    for (const auto& [which, panels] : come_to) {
      const auto [sequence, head, row] = which;
      RC_ASSERT(head < c.problem.planned.q_heads);
      RC_ASSERT(row < c.problem.sequence(sequence).sequence.rows);
      RC_ASSERT(panels.second);
    }
    RC_ASSERT(come_to.size() == rows);
  });
}

TEST_CASE("a unit has the panels that its rows see, and packs each once, in whatever rounds") {
  holds_for(300, [] {
    const cutting c = *any_cutting();
    const planning::schedule s = c.cut();
    for (const planning::unit& u : s.units) {
      const described d = c.problem.sequence_of(u);
      std::int64_t pairs = 0;
      std::set<std::int64_t> seen;
      for (std::int64_t row = u.first_row; row < u.first_row + u.rows; ++row)
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
    for (const planning::wave& w : s.waves)
      for (std::int64_t round = 0; round < w.rounds; ++round)
        for (const planning::pack_task& t : w.pack) {
          RC_ASSERT(t.first_unit >= w.first_unit && t.first_unit + t.units <= w.last_unit);
          RC_ASSERT(t.units >= 1 && t.panels >= 1);
          const planning::unit& first = unit_of(s, t.first_unit);
          for (std::int32_t i = 0; i < t.units; ++i) {
            const planning::unit& u = unit_of(s, t.first_unit + i);
            RC_ASSERT(std::tuple(u.sequence, u.kv_head - i, u.first_panel, u.panels) ==
                      std::tuple(first.sequence, first.kv_head, first.first_panel, first.panels));
            const planning::interval panels = planning::panels_in_round(w, u, round);
            RC_ASSERT(round == 0 || panels.first % contract::panels_per_split == 0);
            RC_ASSERT(w.rounds == 1 || !panels.empty());
            for (std::int64_t panel = t.first_panel; panel < std::min(t.first_panel + t.panels, panels.size()); ++panel)
              RC_ASSERT(packed.insert({t.first_unit + i, panels.first + panel}).second);
          }
        }
    std::size_t panels = 0;
    for (const planning::unit& u : s.units) panels += static_cast<std::size_t>(u.panels);
    RC_ASSERT(packed.size() == panels);
  });
}

TEST_CASE("waves take the units in order and stay within the cap") {
  holds_for(500, [] {
    const cutting c = *any_cutting();
    const planning::schedule s = c.cut();
    const std::int64_t group = c.problem.planned.group(), split_bytes = 16 * c.sizes.panel_bytes;
    const std::int64_t block_states = std::max<std::int64_t>(c.sizes.block_rows, group) * c.sizes.state_bytes;
    const auto bytes = [&](const planning::wave& w, const planning::unit& u) {
      return w.rounds == 1 ? u.panels * c.sizes.panel_bytes
                           : w.round_panels * c.sizes.panel_bytes + u.rows * group * c.sizes.state_bytes;
    };
    std::int32_t next = 0;
    for (const planning::wave& w : s.waves) {
      RC_ASSERT(w.first_unit == next);
      RC_ASSERT(w.last_unit > w.first_unit);
      next = w.last_unit;
      std::int64_t taken = 0;
      for (std::int32_t unit = w.first_unit; unit < w.last_unit; ++unit) taken += bytes(w, unit_of(s, unit));
      const std::int64_t heads = w.last_unit - w.first_unit, states_cap = heads * block_states;
      // Where the cap has no room for that, one split of a head and one block of rows is the least.
      RC_ASSERT(taken <= std::max(c.sizes.cap, split_bytes) + std::max(c.sizes.cap / 4, states_cap));
      if (c.sizes.cap >= 2 * split_bytes && c.sizes.cap / 4 >= states_cap) RC_ASSERT(taken <= c.sizes.cap);
    }
    RC_ASSERT(static_cast<std::size_t>(next) == s.units.size());
  });
}

TEST_CASE("a wave takes what caches keep, and more only for its tasks") {
  holds_for(500, [] {
    const cutting c = *any_cutting();
    const planning::schedule s = c.cut();
    const auto is_whole = [&](const planning::unit& u) { return u.panels * c.sizes.panel_bytes <= c.sizes.cap / 4; };
    for (std::size_t i = 0; i < s.waves.size(); ++i) {
      const planning::wave& w = s.waves[i];
      if (!is_whole(unit_of(s, w.first_unit))) continue;
      std::int64_t packed = 0, tasks = 0;
      const auto enough_without = [&](const planning::unit& u) {
        const std::int64_t with = packed + u.panels * c.sizes.panel_bytes;
        return with > c.sizes.cap || (with > c.sizes.cached && tasks >= c.sizes.least_tasks);
      };
      for (std::int32_t unit = w.first_unit; unit < w.last_unit; ++unit) {
        const planning::unit& u = unit_of(s, unit);
        if (unit > w.first_unit) RC_ASSERT(!enough_without(u));
        packed += u.panels * c.sizes.panel_bytes;
        for (const planning::attend_task& t : w.attend) tasks += t.unit == unit;
      }
      if (i + 1 < s.waves.size() && is_whole(unit_of(s, s.waves[i + 1].first_unit)))
        RC_ASSERT(enough_without(unit_of(s, s.waves[i + 1].first_unit)));
    }
  });
}

TEST_CASE("the heaviest work comes first") {
  holds_for(300, [] {
    const cutting c = *any_cutting();
    const planning::schedule s = c.cut();
    const auto pairs_of_sequence = [&](const planning::unit& u) {
      std::int64_t pairs = 0;
      for (const planning::unit& other : s.units)
        if (other.sequence == u.sequence && other.kv_head == u.kv_head) pairs += other.pairs;
      return pairs;
    };
    for (std::size_t i = 1; i < s.units.size(); ++i)
      RC_ASSERT(pairs_of_sequence(s.units[i - 1]) >= pairs_of_sequence(s.units[i]));
    for (const planning::wave& w : s.waves)
      for (std::size_t i = 1; i < w.attend.size(); ++i) {
        const planning::attend_task &before = w.attend[i - 1], &task = w.attend[i];
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
    const auto text = [](const planning::schedule& s) {
      std::ostringstream out;
      for (const planning::unit& u : s.units)
        out << u.sequence << ' ' << u.kv_head << ' ' << u.first_panel << ' ' << u.panels << '\n';
      for (const planning::wave& w : s.waves) {
        out << "wave " << w.first_unit << ' ' << w.last_unit << '\n';
        for (const planning::pack_task& t : w.pack)
          out << t.first_unit << ' ' << t.units << ' ' << t.first_panel << ' ' << t.panels << '\n';
        for (const planning::attend_task& t : w.attend)
          out << t.unit << ' ' << t.first_head << ' ' << t.heads << ' ' << t.first_row << ' ' << t.rows << '\n';
      }
      return out.str();
    };
    RC_ASSERT(text(c.cut()) == text(other.cut()));
  });
}

TEST_CASE("a long sequence is packed in several tasks") {
  planning::problem p{};
  p.q_heads = p.kv_heads = 1;
  p.window = {planning::window::unbounded, 0};
  p.sequences = {{1, 100'000, 99'999}};
  const planning::schedule s = planning::cut(
      p,
      {.block_rows = 16, .panel_bytes = 1, .state_bytes = 1, .cached = INT64_MAX, .least_tasks = 0, .cap = INT64_MAX});
  REQUIRE(s.waves.size() == 1);
  CHECK(s.waves[0].attend.size() == 1);
  CHECK(s.waves[0].pack.size() > 10);  // work for several threads even where there is only one head
}

TEST_CASE("heads of a long sequence go through rounds together, so that there are tasks for many threads") {
  planning::problem p{};
  p.q_heads = 16;
  p.kv_heads = 8;
  p.window = {planning::window::unbounded, 0};
  p.sequences = {{512, 131072, 131072 - 512}};
  constexpr std::int64_t panel_bytes = 16 * 1024, state_bytes = 520, cap = std::int64_t{64} << 20;
  const planning::schedule s = planning::cut(p, {.block_rows = 96,
                                                 .panel_bytes = panel_bytes,
                                                 .state_bytes = state_bytes,
                                                 .cached = cap,
                                                 .least_tasks = 0,
                                                 .cap = cap});
  REQUIRE(s.waves.size() == 1);
  CHECK(s.waves[0].last_unit - s.waves[0].first_unit == p.kv_heads);
  CHECK(s.waves[0].rounds > 1);
  // A cap that is mostly used packs in the fewest rounds.
  CHECK(s.waves[0].rounds <= 2 * 8 * 131072 / 16 * panel_bytes / cap);
}

TEST_CASE("a plan is no larger for more keys than its rounds take") {
  planning::problem p{};
  p.q_heads = p.kv_heads = 2;
  p.window = {planning::window::unbounded, planning::window::unbounded};
  p.sequences = {{20, std::int64_t{1} << 60, 0}};
  const planning::schedule s = planning::cut(p, {.block_rows = 16,
                                                 .panel_bytes = 16,
                                                 .state_bytes = 8,
                                                 .cached = 1 << 20,
                                                 .least_tasks = 0,
                                                 .cap = std::int64_t{64} << 20});
  REQUIRE(s.waves.size() == 1);
  CHECK(s.waves[0].rounds > std::int64_t{1} << 32);
  CHECK(s.waves[0].pack.size() < 100'000);
}
