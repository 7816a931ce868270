#include <set>
#include <vector>

#include "plan/problems.hpp"
#include "plan/property.hpp"

using namespace tril;
using namespace tril::test;

namespace {

/// What decoding is cut from.
struct cutting {
  described_problem problem;
  int workers;
  bool token_major;

  planning::decode_schedule cut() const { return planning::cut_decode(problem.planned, workers, token_major); }
};

std::ostream& operator<<(std::ostream& out, const cutting& c) {
  return out << c.problem << "; " << c.workers << " workers" << (c.token_major ? ", token-major" : "");
}

rc::Gen<cutting> any_cutting() {
  return rc::gen::exec([] { return cutting{*any_problem(), *rc::gen::inRange(1, 10), *rc::gen::arbitrary<bool>()}; });
}

/// The tasks that each unit takes part in.
std::vector<std::vector<planning::decode_task>> tasks_of_units(const planning::decode_schedule& s) {
  std::vector<std::vector<planning::decode_task>> tasks(s.units.size());
  for (const planning::decode_task& t : s.tasks)
    for (std::int32_t unit = t.first_unit; unit < t.first_unit + t.units; ++unit)
      tasks.at(static_cast<std::size_t>(unit)).push_back(t);
  return tasks;
}

const planning::unit& unit_at(const planning::decode_schedule& s, std::int32_t index) {
  return s.units.at(static_cast<std::size_t>(index));
}

}  // namespace

TEST_CASE("decode: a unit's splits hold all the keys that its rows see, and begin and end with one") {
  holds_for(300, [] {
    const cutting c = *any_cutting();
    for (const planning::unit& u : c.cut().units) {
      const described d = c.problem.sequence_of(u);
      std::set<std::int64_t> seen;
      for (std::int64_t row = 0; row < d.sequence.rows; ++row)
        for (std::int64_t key = 0; key < d.sequence.keys; ++key)
          if (d.sees(row, key)) seen.insert(key / contract::split_keys);
      if (seen.empty()) {
        RC_ASSERT(planning::split_count(u) == 0);
        continue;
      }
      RC_ASSERT(planning::first_split(u) == *seen.begin());
      RC_ASSERT(planning::first_split(u) + planning::split_count(u) == *seen.rbegin() + 1);
    }
  });
}

TEST_CASE("decode: each split of each unit is in one task, and a unit without keys is in one too") {
  holds_for(500, [] {
    const cutting c = *any_cutting();
    const planning::decode_schedule s = c.cut();
    const auto tasks = tasks_of_units(s);
    for (std::size_t i = 0; i < s.units.size(); ++i) {
      const planning::unit u = s.units[i];
      RC_ASSERT(!tasks[i].empty());
      std::set<std::int64_t> splits;
      for (const planning::decode_task& t : tasks[i])
        for (std::int64_t split = t.first_split; split < t.first_split + t.splits; ++split) {
          RC_ASSERT(split >= planning::first_split(u));
          RC_ASSERT(split < planning::first_split(u) + planning::split_count(u));
          RC_ASSERT(splits.insert(split).second);
        }
      RC_ASSERT(static_cast<std::int64_t>(splits.size()) == planning::split_count(u));
    }
  });
}

TEST_CASE("decode: the units of a task are heads of one sequence, with the same splits") {
  holds_for(500, [] {
    const cutting c = *any_cutting();
    const planning::decode_schedule s = c.cut();
    for (const planning::decode_task& t : s.tasks) {
      RC_ASSERT(t.units == (c.token_major ? c.problem.planned.kv_heads : 1));
      const planning::unit& first = unit_at(s, t.first_unit);
      for (std::int32_t i = 0; i < t.units; ++i) {
        const planning::unit& u = unit_at(s, t.first_unit + i);
        RC_ASSERT(u.sequence == first.sequence);
        RC_ASSERT(u.kv_head == first.kv_head + i);
        RC_ASSERT(planning::first_split(u) == planning::first_split(first));
        RC_ASSERT(planning::split_count(u) == planning::split_count(first));
      }
    }
  });
}

TEST_CASE("decode: a unit of several tasks saves a state per split, each in a place of its own") {
  holds_for(500, [] {
    const cutting c = *any_cutting();
    const planning::decode_schedule s = c.cut();
    const auto tasks = tasks_of_units(s);
    RC_ASSERT(s.saved_states.size() == s.units.size());
    std::set<std::int64_t> states;
    for (std::size_t i = 0; i < s.units.size(); ++i) {
      if (tasks[i].size() > 1 || tasks[i][0].units > 1) RC_ASSERT(s.saved_states[i] >= 0);
      if (s.saved_states[i] < 0) continue;
      for (std::int64_t split = 0; split < planning::split_count(s.units[i]); ++split) {
        RC_ASSERT(s.saved_states[i] + split < s.states);
        RC_ASSERT(states.insert(s.saved_states[i] + split).second);
      }
    }
    RC_ASSERT(static_cast<std::int64_t>(states.size()) == s.states);
  });
}

TEST_CASE("decode: the heaviest work comes first") {
  holds_for(500, [] {
    const planning::decode_schedule s = (*any_cutting()).cut();
    for (std::size_t i = 1; i < s.tasks.size(); ++i)
      RC_ASSERT(s.tasks[i - 1].splits * s.tasks[i - 1].units >= s.tasks[i].splits * s.tasks[i].units);
  });
}

TEST_CASE("decode: one worker on heads that lie apart takes each in one task and saves nothing") {
  holds_for(300, [] {
    cutting c = *any_cutting();
    c.workers = 1;
    c.token_major = false;
    const planning::decode_schedule s = c.cut();
    RC_ASSERT(s.tasks.size() == s.units.size());
    RC_ASSERT(s.states == 0);
  });
}

TEST_CASE("decode: one long sequence is work for all threads") {
  planning::problem p{};
  p.q_heads = p.kv_heads = 1;
  p.window = {planning::window::unbounded, 0};
  p.sequences = {{1, 100'000, 99'999}};
  for (const int workers : {2, 7, 64}) {
    CAPTURE(workers);
    CHECK(planning::cut_decode(p, workers, false).tasks.size() >= static_cast<std::size_t>(workers));
  }
}
