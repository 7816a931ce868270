#include <algorithm>

#include "memory/workspace.hpp"
#include "run/block.hpp"
#include "run/kv_address.hpp"

namespace tril::run {
namespace {

using contract::panel_keys;
using contract::split_keys;

/// Packed K and V kept at once. A larger problem goes through in waves of KV heads; a head that is larger by
/// itself is not packed at all, its panels are made in L1 by each block of rows.
constexpr std::int64_t packed_bytes_cap = std::int64_t{64} << 20;

std::int64_t k_panel_bytes(const plan::problem& p) { return 4 * contract::k_panel_elements(p.dim); }
std::int64_t v_panel_bytes(const plan::problem& p) { return 4 * contract::v_panel_elements(p.value_dim); }

bool all_packed(const plan::schedule& s) {
  return std::all_of(s.units.begin(), s.units.end(), [](const plan::unit& u) { return u.packed; });
}

/// For each wave two stages: its keys and values are packed, then its rows attend to them.
class prefill final : public work {
 public:
  prefill(plan::problem problem, const contract::kernel_table& kernels, int workers);

  const char* kernel() const override { return contract::label::attend_split; }
  std::int64_t stages() const override { return 2 * static_cast<std::int64_t>(schedule_.waves.size()); }
  std::int64_t tasks(std::int64_t stage) const override;
  void run_task(std::int64_t stage, std::int64_t task, int worker, const pointers& at) const override;

 private:
  void pack(const plan::pack_task& task, const pointers& at) const;
  void attend(const plan::wave& w, std::size_t task, int worker, const pointers& at) const;
  void attend_packed(std::int32_t unit, const block_of_rows& rows, std::int64_t split, const pointers& at) const;

  /// Offsets of a unit's packed panels in the workspace; each wave starts again at the front.
  struct packed_unit {
    std::size_t k, v, v_finite;
  };

  plan::schedule schedule_;
  std::vector<packed_unit> packed_;
  scratch_layout scratch_;
  std::size_t scratch_offset_ = 0;  // behind the packed panels
};

prefill::prefill(plan::problem problem, const contract::kernel_table& kernels, int workers)
    : work(std::move(problem), kernels, workers),
      schedule_(plan::cut(problem_, kernels.tiles.block_rows, k_panel_bytes(problem_) + v_panel_bytes(problem_),
                          packed_bytes_cap)),
      packed_(schedule_.units.size()),
      scratch_((all_packed(schedule_) ? kernels.block_bytes : kernels.view_bytes)(problem_.dim, problem_.value_dim),
               kernels.tiles.block_rows) {
  for (const plan::wave& w : schedule_.waves) {
    workspace_layout layout;
    for (auto i = static_cast<std::size_t>(w.first_unit); i < static_cast<std::size_t>(w.last_unit); ++i) {
      const plan::unit& u = schedule_.units[i];
      const auto panels = static_cast<std::size_t>(u.packed ? u.panels : 0);
      packed_[i].k = layout.reserve(panels * static_cast<std::size_t>(k_panel_bytes(problem_)));
      packed_[i].v = layout.reserve(panels * static_cast<std::size_t>(v_panel_bytes(problem_)));
      packed_[i].v_finite = layout.reserve(panels);
    }
    scratch_offset_ = std::max(scratch_offset_, layout.bytes());
  }
  if (!schedule_.waves.empty())
    workspace_bytes_ = scratch_offset_ + scratch_.bytes * static_cast<std::size_t>(workers_);
}

std::int64_t prefill::tasks(std::int64_t stage) const {
  const plan::wave& w = schedule_.waves[static_cast<std::size_t>(stage / 2)];
  return static_cast<std::int64_t>(stage % 2 == 0 ? w.pack.size() : w.attend.size());
}

void prefill::run_task(std::int64_t stage, std::int64_t task, int worker, const pointers& at) const {
  const plan::wave& w = schedule_.waves[static_cast<std::size_t>(stage / 2)];
  const auto i = static_cast<std::size_t>(task);
  if (stage % 2 == 0)
    pack(w.pack[i], at);
  else
    attend(w, i, worker, at);
}

void prefill::pack(const plan::pack_task& task, const pointers& at) const {
  const plan::unit& u = schedule_.units[static_cast<std::size_t>(task.unit)];
  const packed_unit& packed = packed_[static_cast<std::size_t>(task.unit)];
  const std::int64_t keys = problem_.sequences[static_cast<std::size_t>(u.sequence)].keys;
  const kv_address k_at(problem_.k, at.k, u.sequence, u.kv_head), v_at(problem_.v, at.v, u.sequence, u.kv_head);
  for (std::int64_t panel = task.first_panel; panel < task.first_panel + task.panels; ++panel) {
    const std::int64_t first_key = (u.first_panel + panel) * panel_keys;
    const auto count = static_cast<std::int32_t>(std::min<std::int64_t>(panel_keys, keys - first_key));
    const bool more = panel + 1 < task.first_panel + task.panels && first_key + 2 * panel_keys <= keys;
    const void *rows[panel_keys], *next[panel_keys];
    k_at.rows(first_key, count, rows);
    if (more) k_at.rows(first_key + panel_keys, panel_keys, next);
    kernels_.pack_k({rows, count, static_cast<std::int32_t>(problem_.dim),
                     at.workspace + packed.k + panel * k_panel_bytes(problem_), more ? next : nullptr});
    v_at.rows(first_key, count, rows);
    if (more) v_at.rows(first_key + panel_keys, panel_keys, next);
    const bool finite =
        kernels_.pack_v({rows, count, static_cast<std::int32_t>(problem_.value_dim),
                         at.workspace + packed.v + panel * v_panel_bytes(problem_), more ? next : nullptr});
    at.workspace[packed.v_finite + static_cast<std::size_t>(panel)] = std::byte{finite};
  }
}

void prefill::attend(const plan::wave& w, std::size_t index, int worker, const pointers& at) const {
  const plan::attend_task& task = w.attend[index];
  const plan::unit& u = schedule_.units[static_cast<std::size_t>(task.unit)];
  std::byte* scratch = at.workspace + scratch_offset_ + scratch_.bytes * static_cast<std::size_t>(worker);
  // Workers take tasks in turn.
  const std::size_t guess = std::min(index + static_cast<std::size_t>(workers_), w.attend.size() - 1);
  const task_of_unit next = {w.attend[guess], schedule_.units[static_cast<std::size_t>(w.attend[guess].unit)]};
  const block_of_rows rows = gather_rows(problem_, {task, u}, &next, scratch_, scratch, at);

  kernels_.begin_rows(rows.block);
  for (std::int64_t split = rows.any.first / split_keys; split * split_keys < rows.any.last; ++split)
    if (u.packed)
      attend_packed(task.unit, rows, split, at);
    else
      attend_views(kernels_, problem_, rows, {u, split}, {u, split + 1}, at);
  kernels_.finish_rows(rows.block);
}

void prefill::attend_packed(std::int32_t unit, const block_of_rows& rows, std::int64_t split,
                            const pointers& at) const {
  const plan::unit& u = schedule_.units[static_cast<std::size_t>(unit)];
  const packed_unit& packed = packed_[static_cast<std::size_t>(unit)];
  const plan::split_view view = plan::view_split(rows.seen, split, rows.masks);
  contract::key_panel panels[contract::panels_per_split];
  for (int i = 0; i < view.count; ++i) {
    const auto [slot, full] = view.panels[i];
    const std::int64_t panel = split * contract::panels_per_split + slot - u.first_panel;
    panels[i] = {.k = at.workspace + packed.k + panel * k_panel_bytes(problem_),
                 .v = at.workspace + packed.v + panel * v_panel_bytes(problem_),
                 .k_scales = nullptr,
                 .v_scales = nullptr,
                 .row_masks = full ? nullptr : rows.masks + static_cast<std::size_t>(slot) * rows.seen.size(),
                 .slot = slot,
                 .v_finite = at.workspace[packed.v_finite + static_cast<std::size_t>(panel)] != std::byte{0}};
  }
  const std::int64_t next = (split + 1) * contract::panels_per_split - u.first_panel;
  const bool last = (split + 1) * split_keys >= rows.any.last;
  if (view.count > 0)
    kernels_.attend_split(rows.block, {panels, view.count, split * split_keys,
                                       last ? nullptr : at.workspace + packed.k + next * k_panel_bytes(problem_)});
}

}  // namespace

std::unique_ptr<work> make_prefill(plan::problem problem, const contract::kernel_table& kernels, int workers) {
  return std::make_unique<prefill>(std::move(problem), kernels, workers);
}

}  // namespace tril::run
