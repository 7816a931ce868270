#pragma once

/// What will be read or written before long is asked for while tiles compute, a line per step of their inner loops:
/// a burst of prefetches gets lost where it finds every miss buffer taken (Zen 5: of 384 lines asked for at once,
/// half were still missing; of as many in portions, none).

#include "kernels/generic/block.hpp"

namespace tril::TRIL_ISA {
namespace {

/// Memory to be asked for step by step.
struct trickle {
  const char* at = nullptr;
  std::int64_t bytes = 0;  // per step

  [[gnu::always_inline]] void step() {
    __builtin_prefetch(at);
    at += bytes;
  }
};

/// Asks for nothing but what is read anyway.
struct nothing_ahead {
  const void* const* panels;

  trickle operator()(int p, int) const { return {static_cast<const char*>(panels[p])}; }
  const char* const* pieces(int) const { return reinterpret_cast<const char* const*>(panels); }
  std::int64_t step() const { return 0; }
};

/// For the score tiles of a split: its values. Each tile of rows asks for its share of every panel.
struct values_ahead {
  std::int64_t panel_bytes;
  std::int64_t share;

  values_ahead(const contract::row_block& block, const tile_range& range)
      : panel_bytes(4 * contract::v_panel_elements(block.value_dim)), share(panel_bytes / range.count) {}

  /// While tile `tile` computes the scores of `panels` panels of which `v` is the first one's values.
  trickle of(int tile, const void* v, int panels, std::int64_t dim) const {
    return {static_cast<const char*>(v) + tile * panels * share, panels * share / dim};
  }
};

/// For the P.V tiles of a split, a piece of memory per panel: the keys of the split that comes next, or after the
/// last one the rows that will be written, and the queries of the block that comes next.
class rows_ahead {
 public:
  /// `calls`: how many P.V tiles the split takes.
  rows_ahead(const contract::row_block& block, const contract::split_args& split, int calls)
      : last_(split.next_k == nullptr) {
    if (last_) {
      for (int row = 0; row < block.count; ++row) {
        const contract::query_row& r = block.rows[row];
        piece_[2 * row] = static_cast<const char*>(r.out);
        piece_[2 * row + 1] = static_cast<const char*>(r.next_q ? r.next_q : r.out);
      }
      unasked_ = 2 * block.count;
      piece_bytes_ = 4 * (block.dim > block.value_dim ? block.dim : block.value_dim);
      for (int p = 0; p < panels_per_split; ++p) piece_[unasked_ + p] = piece_[0];  // nothing more to ask for
    } else {
      const std::int64_t panel_bytes = 4 * contract::k_panel_elements(block.dim);
      piece_bytes_ = panel_bytes / calls;
      for (int p = 0; p < panels_per_split; ++p)
        piece_[p] = static_cast<const char*>(split.next_k) + p * panel_bytes - piece_bytes_;
    }
  }

  /// Pieces for the next tile, one for each of so many panels.
  const char* const* pieces(int panels) {
    if (last_) {
      const int first = asked_ < unasked_ ? asked_ : unasked_;
      asked_ += panels;
      return piece_ + first;
    }
    for (int p = 0; p < panels; ++p) piece_[p] += piece_bytes_;
    return piece_;
  }
  /// Bytes of a piece for each of 16 keys.
  std::int64_t step() const { return piece_bytes_ / panel_keys; }

 private:
  const bool last_;
  std::int64_t piece_bytes_;
  int asked_ = 0, unasked_ = 0;
  const char* piece_[2 * tiles.block_rows + panels_per_split];
};

}  // namespace
}  // namespace tril::TRIL_ISA
