#pragma once

/// Cuts a problem into tasks. How it is cut depends on shapes and memory, a task's result on nothing but its rows.

#include <cstdint>
#include <vector>

#include "plan/visible.hpp"

namespace tril::planning {

/// Rows of one KV head's group in one sequence, with the panels that some of them see. Those are packed once, for
/// all query heads of the group and all row blocks. Usually all rows of the sequence; where its panels are too many
/// to lie packed at once, a band of rows that goes through the panels in rounds.
struct unit {
  std::int32_t sequence;
  std::int32_t kv_head;
  std::int64_t first_row, rows;
  std::int64_t first_panel, panels;
  std::int64_t pairs;  // visible (row, key) pairs of the rows, a measure of their cost
};

/// Some panels of neighbouring units that have the same ones: heads of a sequence.
struct pack_task {
  std::int32_t first_unit, units;
  std::int64_t first_panel;  // counted from the units' first of the round
  std::int64_t panels;       // fewer where a round ends before
};

/// A block of rows: `heads` query heads of the unit's group at `rows` consecutive rows.
struct attend_task {
  std::int32_t unit;
  std::int32_t first_head;  // in the group
  std::int32_t heads;
  std::int64_t first_row;
  std::int64_t rows;
};

/// Units that are packed together and stay packed until all their rows are done. If there are several rounds, they have
/// the same panels, and in each round some of those are packed and attended to.
struct wave {
  std::int32_t first_unit, last_unit;
  std::int64_t rounds = 1;
  std::int64_t round_panels = 0;         // of a round between the first and the last
  std::vector<pack_task> pack = {};      // ascending, of a whole round
  std::vector<attend_task> attend = {};  // heaviest unit first, and of a unit the heaviest rows first; of each round
};

struct schedule {
  std::vector<unit> units;
  std::vector<wave> waves;
};

/// What a kernel takes, and what its memory is.
struct prefill_sizes {
  std::int32_t block_rows;   // rows that go through it at once
  std::int64_t panel_bytes;  // packed K and V of 16 keys
  std::int64_t state_bytes;  // what is kept of a row between two rounds
  std::int64_t cached;       // packed panels of a wave that takes several units: what caches keep of them
  std::int64_t least_tasks;  // of a wave, even if it takes more than that: what keeps all workers busy
  std::int64_t cap;          // packed panels and states of a wave, if that has room for one split of one head
};

schedule cut(const problem& p, const prefill_sizes& sizes);

/// The panels of a unit that lie packed in a round of its wave, counted from the start of the sequence.
interval panels_in_round(const wave& w, const unit& u, std::int64_t round);

/// Decoding: consecutive splits of neighbouring units (KV heads of one sequence), for all their rows. Of each
/// split all units are done before the next split.
struct decode_task {
  std::int32_t first_unit;
  std::int32_t units;
  std::int64_t first_split;
  std::int64_t splits;
};

struct decode_schedule {
  std::vector<unit> units;
  std::vector<decode_task> tasks;          // heaviest first
  std::vector<std::int64_t> saved_states;  // per unit: the number of its first saved state; -1: it is one task
  std::int64_t states;                     // saved states in all, one per split of the units that are spread
};

/// A unit is one task, unless it is spread: then each of its splits leaves its state in memory, and the states
/// are folded in order, so that the cut may follow the number of threads without a bit of the result following
/// it. Spread are units with more than their share of the work, and, where keys are `token_major` (a token's
/// heads lie together), all: walking one head at a time would touch every page once per head.
decode_schedule cut_decode(const problem& p, int workers, bool token_major);

/// Splits from the first to the last that some row of the unit sees.
std::int64_t first_split(const unit& u);
std::int64_t split_count(const unit& u);

}  // namespace tril::planning
