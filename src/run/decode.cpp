#include <algorithm>

#include "memory/workspace.hpp"
#include "run/block.hpp"
#include "run/kv_address.hpp"

namespace tril::run {
namespace {

bool is_token_major(const tril_layout& l) { return l.extents[2] > 1 && l.strides[1] > l.strides[2]; }

/// One split of one unit.
struct place {
  const planning::unit& unit;
  std::int64_t split;
};

/// One stage of tasks over splits; if units are spread, a second one that folds their splits in order.
class decode final : public work {
 public:
  decode(planning::problem problem, const contract::kernel_table& kernels, int workers);

  const char* kernel() const override { return contract::label::attend_views; }
  std::int64_t stages() const override { return spread_.empty() ? !schedule_.tasks.empty() : 2; }
  std::int64_t tasks(std::int64_t stage) const override {
    return static_cast<std::int64_t>(stage == 0 ? schedule_.tasks.size() : spread_.size());
  }
  void run_task(std::int64_t stage, std::int64_t task, int worker, const pointers& at) const override;

 private:
  void attend_all(std::int32_t unit, std::int64_t first_split, std::int64_t splits, std::byte* scratch,
                  const pointers& at) const;
  void attend_one(std::int32_t unit, std::int64_t split, const place& next, std::byte* scratch,
                  const pointers& at) const;
  void fold(std::int32_t unit, std::byte* scratch, const pointers& at) const;
  /// To one split; the caller goes on with `next`, which may not exist.
  void attend(const block_of_rows& rows, const place& here, const place& next, const pointers& at) const;

  const planning::unit& unit_at(std::int32_t unit) const { return schedule_.units[static_cast<std::size_t>(unit)]; }
  block_of_rows rows_of(std::int32_t unit, std::byte* scratch, const pointers& at) const;
  float* state(std::int32_t unit, std::int64_t split, const pointers& at) const;

  planning::decode_schedule schedule_;
  std::vector<std::int32_t> spread_;  // units whose splits leave their states in memory
  scratch_layout scratch_;
  std::size_t state_bytes_;
  std::size_t scratch_offset_;  // behind the states
};

decode::decode(planning::problem problem, const contract::kernel_table& kernels, int workers)
    : work(std::move(problem), kernels, workers),
      schedule_(planning::cut_decode(problem_, workers, is_token_major(problem_.k))),
      scratch_(kernels.view_bytes(problem_.dim, problem_.value_dim), kernels.tiles.block_rows) {
  std::int64_t rows = 0;
  for (const planning::sequence& s : problem_.sequences) rows = std::max(rows, s.rows);
  for (std::size_t i = 0; i < schedule_.units.size(); ++i)
    if (schedule_.saved_states[i] >= 0) spread_.push_back(static_cast<std::int32_t>(i));
  const std::int64_t row_elements = contract::state_elements(problem_.value_dim);
  state_bytes_ = sizeof(float) * static_cast<std::size_t>(rows * problem_.group() * row_elements);
  workspace_layout layout;
  layout.reserve(static_cast<std::size_t>(schedule_.states) * state_bytes_);
  scratch_offset_ = layout.bytes();
  if (!schedule_.tasks.empty())
    workspace_bytes_ = scratch_offset_ + scratch_.bytes * static_cast<std::size_t>(workers_);
}

void decode::run_task(std::int64_t stage, std::int64_t task, int worker, const pointers& at) const {
  std::byte* scratch = at.workspace + scratch_offset_ + scratch_.bytes * static_cast<std::size_t>(worker);
  const auto i = static_cast<std::size_t>(task);
  if (stage == 1) return fold(spread_[i], scratch, at);
  const planning::decode_task& t = schedule_.tasks[i];
  if (schedule_.saved_states[static_cast<std::size_t>(t.first_unit)] < 0)
    return attend_all(t.first_unit, t.first_split, t.splits, scratch, at);
  for (std::int64_t split = t.first_split; split < t.first_split + t.splits; ++split)
    for (std::int32_t i = 0; i < t.units; ++i) {
      const bool last = i + 1 == t.units;
      const place next{unit_at(t.first_unit + (last ? 0 : i + 1)), split + last};
      attend_one(t.first_unit + i, split, next, scratch, at);
    }
}

block_of_rows decode::rows_of(std::int32_t unit, std::byte* scratch, const pointers& at) const {
  const planning::unit& u = unit_at(unit);
  const std::int64_t rows = problem_.sequences[static_cast<std::size_t>(u.sequence)].rows;
  const planning::attend_task all = {unit, 0, static_cast<std::int32_t>(problem_.group()), 0, rows};
  return gather_rows(problem_, {all, u}, nullptr, scratch_, scratch, at);
}

float* decode::state(std::int32_t unit, std::int64_t split, const pointers& at) const {
  const auto i = static_cast<std::size_t>(unit);
  const std::int64_t number = schedule_.saved_states[i] + split - planning::first_split(schedule_.units[i]);
  return reinterpret_cast<float*>(at.workspace + static_cast<std::size_t>(number) * state_bytes_);
}

void decode::attend_all(std::int32_t unit, std::int64_t first_split, std::int64_t splits, std::byte* scratch,
                        const pointers& at) const {
  const block_of_rows rows = rows_of(unit, scratch, at);
  kernels_.begin_rows(rows.block);
  for (std::int64_t split = first_split; split < first_split + splits; ++split)
    attend(rows, {unit_at(unit), split}, {unit_at(unit), split + 1}, at);
  kernels_.finish_rows(rows.block);
}

void decode::attend_one(std::int32_t unit, std::int64_t split, const place& next, std::byte* scratch,
                        const pointers& at) const {
  const block_of_rows rows = rows_of(unit, scratch, at);
  kernels_.begin_rows(rows.block);
  attend(rows, {unit_at(unit), split}, next, at);
  kernels_.save_rows(rows.block, state(unit, split, at));
}

void decode::fold(std::int32_t unit, std::byte* scratch, const pointers& at) const {
  const planning::unit& u = unit_at(unit);
  const block_of_rows rows = rows_of(unit, scratch, at);
  kernels_.begin_rows(rows.block);
  const std::int64_t first = planning::first_split(u);
  for (std::int64_t split = first; split < first + planning::split_count(u); ++split)
    kernels_.fold_rows(rows.block, state(unit, split, at));
  kernels_.finish_rows(rows.block);
}

void decode::attend(const block_of_rows& rows, const place& here, const place& next, const pointers& at) const {
  using contract::panel_keys;
  const auto& [u, split] = here;
  const std::int64_t keys = problem_.sequences[static_cast<std::size_t>(u.sequence)].keys;
  const kv_address k_at(problem_.k, at.k, u.sequence, u.kv_head), v_at(problem_.v, at.v, u.sequence, u.kv_head);
  const planning::split_view view = planning::view_split(rows.seen, split, rows.masks);
  contract::view_panel panels[contract::panels_per_split];
  const void* k_rows[contract::split_keys];
  const void* v_rows[contract::split_keys];
  for (int i = 0; i < view.count; ++i) {
    const auto [slot, full] = view.panels[i];
    const std::int64_t first_key = split * contract::split_keys + slot * panel_keys;
    const auto count = static_cast<std::int32_t>(std::min<std::int64_t>(panel_keys, keys - first_key));
    k_at.rows(first_key, count, k_rows + i * panel_keys);
    v_at.rows(first_key, count, v_rows + i * panel_keys);
    panels[i] = {.k = k_rows + i * panel_keys,
                 .v = v_rows + i * panel_keys,
                 .k_scales = nullptr,
                 .v_scales = nullptr,
                 .row_masks = full ? nullptr : rows.masks + static_cast<std::size_t>(slot) * rows.seen.size(),
                 .count = count};
  }
  const void* next_keys[panel_keys];
  const std::int64_t next_key = next.split * contract::split_keys;
  const bool more = next_key + panel_keys <= keys && next.unit.sequence == u.sequence;
  if (more) kv_address(problem_.k, at.k, next.unit.sequence, next.unit.kv_head).rows(next_key, panel_keys, next_keys);
  if (view.count > 0)
    kernels_.attend_views(rows.block, {panels, view.count, split * contract::split_keys, more ? next_keys : nullptr});
}

}  // namespace

std::unique_ptr<work> make_decode(planning::problem problem, const contract::kernel_table& kernels, int workers) {
  return std::make_unique<decode>(std::move(problem), kernels, workers);
}

}  // namespace tril::run
