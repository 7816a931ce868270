#include <algorithm>

#include "memory/workspace.hpp"
#include "run/block.hpp"
#include "run/kv_address.hpp"

namespace tril::run {
namespace {

using contract::panel_keys;
using contract::split_keys;

/// Of packed panels, that the caches of a core keep: what is read again before they are overwritten, and written over
/// by the next wave without a line fetched from memory.
constexpr std::int64_t cached_bytes = std::int64_t{2} << 20;
constexpr int tasks_per_worker = 8;  // in a stage: so that none waits long for the last of the others

std::int64_t k_panel_bytes(const planning::problem& p) { return 4 * contract::k_panel_elements(p.dim); }
std::int64_t v_panel_bytes(const planning::problem& p) { return 4 * contract::v_panel_elements(p.value_dim); }

std::int64_t state_bytes(const planning::problem& p) { return 4 * contract::state_elements(p.value_dim); }

/// For each round of each wave two stages: its keys and values are packed, then the rows attend to them.
class prefill final : public work {
 public:
  prefill(planning::problem problem, const contract::kernel_table& kernels, int workers, std::int64_t cap);

  const char* kernel() const override { return contract::label::attend_split; }
  std::int64_t stages() const override { return stages_; }
  std::int64_t tasks(std::int64_t stage) const override;
  void run_task(std::int64_t stage, std::int64_t task, int worker, const pointers& at) const override;

 private:
  struct round {
    const planning::wave& wave;
    std::int64_t number;

    planning::interval panels_of(const planning::unit& u) const { return panels_in_round(wave, u, number); }
    bool is_first() const { return number == 0; }
    bool is_last() const { return number + 1 == wave.rounds; }
  };
  round round_of(std::int64_t stage) const;

  void pack(const round& r, const planning::pack_task& task, const pointers& at) const;
  void attend(const round& r, std::size_t task, int worker, const pointers& at) const;
  void attend_packed(std::int32_t unit, std::int64_t first_panel, const block_of_rows& rows, std::int64_t split,
                     bool last, const pointers& at) const;

  /// Offsets of a unit's states and packed panels in the workspace; each wave starts again at the front.
  struct packed_unit {
    std::size_t states, k, v, v_finite;
  };

  planning::schedule schedule_;
  std::vector<std::int64_t> first_stage_;  // of each wave
  std::int64_t stages_ = 0;
  std::vector<packed_unit> packed_;
  scratch_layout scratch_;
  std::size_t scratch_offset_ = 0;  // behind the packed panels
};

prefill::prefill(planning::problem problem, const contract::kernel_table& kernels, int workers, std::int64_t cap)
    : work(std::move(problem), kernels, workers),
      schedule_(planning::cut(problem_, {.block_rows = kernels.tiles.block_rows,
                                         .panel_bytes = k_panel_bytes(problem_) + v_panel_bytes(problem_),
                                         .state_bytes = state_bytes(problem_),
                                         .cached = cached_bytes * workers,
                                         .least_tasks = std::int64_t{tasks_per_worker} * workers,
                                         .cap = cap})),
      packed_(schedule_.units.size()),
      scratch_(kernels.block_bytes(problem_.dim, problem_.value_dim), kernels.tiles.block_rows) {
  for (const planning::wave& w : schedule_.waves) {
    first_stage_.push_back(stages_);
    stages_ += 2 * w.rounds;
    workspace_layout layout;
    for (auto i = static_cast<std::size_t>(w.first_unit); i < static_cast<std::size_t>(w.last_unit); ++i) {
      const planning::unit& u = schedule_.units[i];
      const auto panels = static_cast<std::size_t>(w.rounds > 1 ? w.round_panels : u.panels);
      const auto states = static_cast<std::size_t>(w.rounds > 1 ? u.rows * problem_.group() : 0);
      packed_[i].states = layout.reserve(states * static_cast<std::size_t>(state_bytes(problem_)));
      packed_[i].k = layout.reserve(panels * static_cast<std::size_t>(k_panel_bytes(problem_)));
      packed_[i].v = layout.reserve(panels * static_cast<std::size_t>(v_panel_bytes(problem_)));
      packed_[i].v_finite = layout.reserve(panels);
    }
    scratch_offset_ = std::max(scratch_offset_, layout.bytes());
  }
  if (!schedule_.waves.empty())
    workspace_bytes_ = scratch_offset_ + scratch_.bytes * static_cast<std::size_t>(workers_);
}

prefill::round prefill::round_of(std::int64_t stage) const {
  const auto after = std::upper_bound(first_stage_.begin(), first_stage_.end(), stage);
  const auto wave = static_cast<std::size_t>(after - first_stage_.begin() - 1);
  return {schedule_.waves[wave], (stage - first_stage_[wave]) / 2};
}

std::int64_t prefill::tasks(std::int64_t stage) const {
  const round r = round_of(stage);
  if (stage % 2 != 0) return static_cast<std::int64_t>(r.wave.attend.size());
  if (r.wave.rounds == 1) return static_cast<std::int64_t>(r.wave.pack.size());
  // All units have the same panels; the first round and the last may have few.
  const std::int64_t panels = r.panels_of(schedule_.units[static_cast<std::size_t>(r.wave.first_unit)]).size();
  return std::partition_point(r.wave.pack.begin(), r.wave.pack.end(),
                              [&](const planning::pack_task& t) { return t.first_panel < panels; }) -
         r.wave.pack.begin();
}

void prefill::run_task(std::int64_t stage, std::int64_t task, int worker, const pointers& at) const {
  const round r = round_of(stage);
  const auto i = static_cast<std::size_t>(task);
  if (stage % 2 == 0)
    pack(r, r.wave.pack[i], at);
  else
    attend(r, i, worker, at);
}

void prefill::pack(const round& r, const planning::pack_task& task, const pointers& at) const {
  const planning::unit& first = schedule_.units[static_cast<std::size_t>(task.first_unit)];
  const planning::interval panels = r.panels_of(first);
  const std::int64_t last_panel = std::min(task.first_panel + task.panels, panels.size());
  const std::int64_t keys = problem_.sequences[static_cast<std::size_t>(first.sequence)].keys;
  for (std::int64_t panel = task.first_panel; panel < last_panel; ++panel)
    for (std::int32_t i = 0; i < task.units; ++i) {
      const bool last = i + 1 == task.units;
      const std::int64_t key = (panels.first + panel) * panel_keys, next_key = last ? key + panel_keys : key;
      const auto head = first.kv_head + i, next_head = last ? first.kv_head : head + 1;
      const bool more = next_key + panel_keys <= keys && (!last || panel + 1 < last_panel);
      const auto pack_rows = [&](const tril_layout& l, const std::byte* data, std::int64_t extent, std::size_t to,
                                 auto kernel) {
        const auto count = static_cast<std::int32_t>(std::min<std::int64_t>(panel_keys, keys - key));
        const void *rows[panel_keys], *next[panel_keys];
        kv_address(l, data, first.sequence, head).rows(key, count, rows);
        if (more) kv_address(l, data, first.sequence, next_head).rows(next_key, panel_keys, next);
        return kernel({rows, count, static_cast<std::int32_t>(extent), at.workspace + to, more ? next : nullptr});
      };
      const packed_unit& packed = packed_[static_cast<std::size_t>(task.first_unit + i)];
      pack_rows(problem_.k, at.k, problem_.dim, packed.k + static_cast<std::size_t>(panel * k_panel_bytes(problem_)),
                kernels_.pack_k);
      const bool finite =
          pack_rows(problem_.v, at.v, problem_.value_dim,
                    packed.v + static_cast<std::size_t>(panel * v_panel_bytes(problem_)), kernels_.pack_v);
      at.workspace[packed.v_finite + static_cast<std::size_t>(panel)] = std::byte{finite};
    }
}

void prefill::attend(const round& r, std::size_t index, int worker, const pointers& at) const {
  const std::vector<planning::attend_task>& tasks = r.wave.attend;
  const planning::attend_task& task = tasks[index];
  const planning::unit& u = schedule_.units[static_cast<std::size_t>(task.unit)];
  std::byte* scratch = at.workspace + scratch_offset_ + scratch_.bytes * static_cast<std::size_t>(worker);
  // Workers take tasks in turn.
  const std::size_t guess = std::min(index + static_cast<std::size_t>(workers_), tasks.size() - 1);
  const task_of_unit next = {tasks[guess], schedule_.units[static_cast<std::size_t>(tasks[guess].unit)]};
  const block_of_rows rows = gather_rows(problem_, {task, u}, &next, scratch_, scratch, at);

  // Rows of the group go token by token, as gather_rows() lays them out.
  const std::int64_t first_state = (task.first_row - u.first_row) * problem_.group() + task.first_head;
  auto* state = reinterpret_cast<float*>(at.workspace + packed_[static_cast<std::size_t>(task.unit)].states +
                                         first_state * state_bytes(problem_));
  const planning::interval panels = r.panels_of(u);
  const planning::interval keys = {std::max(rows.any.first, panels.first * panel_keys),
                                   std::min(rows.any.last, panels.last * panel_keys)};
  kernels_.begin_rows(rows.block);
  if (!r.is_first()) kernels_.fold_rows(rows.block, state);
  for (std::int64_t split = keys.first / split_keys; split * split_keys < keys.last; ++split)
    attend_packed(task.unit, panels.first, rows, split, (split + 1) * split_keys >= keys.last, at);
  if (r.is_last())
    kernels_.finish_rows(rows.block);
  else
    kernels_.save_rows(rows.block, state);
}

void prefill::attend_packed(std::int32_t unit, std::int64_t first_panel, const block_of_rows& rows, std::int64_t split,
                            bool last, const pointers& at) const {
  const packed_unit& packed = packed_[static_cast<std::size_t>(unit)];
  const planning::split_view view = planning::view_split(rows.seen, split, rows.masks);
  contract::key_panel panels[contract::panels_per_split];
  for (int i = 0; i < view.count; ++i) {
    const auto [slot, full] = view.panels[i];
    const std::int64_t panel = split * contract::panels_per_split + slot - first_panel;
    panels[i] = {.k = at.workspace + packed.k + panel * k_panel_bytes(problem_),
                 .v = at.workspace + packed.v + panel * v_panel_bytes(problem_),
                 .k_scales = nullptr,
                 .v_scales = nullptr,
                 .row_masks = full ? nullptr : rows.masks + static_cast<std::size_t>(slot) * rows.seen.size(),
                 .slot = slot,
                 .v_finite = at.workspace[packed.v_finite + static_cast<std::size_t>(panel)] != std::byte{0}};
  }
  const std::int64_t next = (split + 1) * contract::panels_per_split - first_panel;
  if (view.count > 0)
    kernels_.attend_split(rows.block, {panels, view.count, split * split_keys,
                                       last ? nullptr : at.workspace + packed.k + next * k_panel_bytes(problem_)});
}

}  // namespace

std::unique_ptr<work> make_prefill(planning::problem problem, const contract::kernel_table& kernels, int workers,
                                   std::int64_t cap) {
  return std::make_unique<prefill>(std::move(problem), kernels, workers, cap);
}

}  // namespace tril::run
