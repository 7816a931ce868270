#pragma once

#include "kernels/generic/ahead.hpp"

namespace tril::TRIL_ISA {
namespace {

/// Lines of a panel that are asked for before they are read.
inline constexpr int lines_ahead = 16;

enum class score_tile {
  plain,
  with_maxima,  // raises lane_max, 16 lanes per row, to the scores
  onward,  // goes on from what `scores` holds, so that long chains can be cut to fit the cache; with few rows, which
           // read panels only once, asks for each panel some lines ahead
};

/// The score tile: Rows x Panels dot products, lanes being keys, so that each score is one chain of fma over
/// the dimensions in ascending order. A function of its own, because inlined into a larger one it loses its register
/// allocation.
template <int Rows, int Panels, score_tile Kind>
[[gnu::noinline]] void qk_tile(const float* q, const void* const* k, std::int64_t dim, float* scores, float* lane_max,
                               trickle ahead) {
  constexpr int per_panel = panel_keys / width;
  vec sum[Rows][Panels * per_panel];
  TRIL_UNROLL for (int row = 0; row < Rows; ++row) TRIL_UNROLL for (int i = 0; i < Panels * per_panel; ++i)
      sum[row][i] = Kind == score_tile::onward ? load(scores + row * split_keys + i * width) : broadcast(0.0f);
  const float* panel[Panels];
  for (int p = 0; p < Panels; ++p) panel[p] = static_cast<const float*>(k[p]);

  TRIL_STEPS for (std::int64_t c = 0; c < dim; ++c) {
    // In front of the loads, which clang moves to their use, but past no prefetch.
    if constexpr (Kind == score_tile::onward && Rows < tiles.qk_rows)
      TRIL_UNROLL for (int p = 0; p < Panels; ++p) __builtin_prefetch(panel[p] + (c + lines_ahead) * panel_keys);
    vec keys[Panels * per_panel];
    TRIL_UNROLL for (int p = 0; p < Panels; ++p) TRIL_UNROLL for (int i = 0; i < per_panel; ++i)
        keys[p * per_panel + i] = load(panel[p] + c * panel_keys + i * width);
    if constexpr (Rows == tiles.qk_rows) ahead.step();  // the small tiles of decoding have no register to spare
    TRIL_UNROLL for (int row = 0; row < Rows; ++row) {
      const vec query = broadcast(q[c * Rows + row]);
      TRIL_UNROLL for (int i = 0; i < Panels * per_panel; ++i) sum[row][i] = fma(query, keys[i], sum[row][i]);
    }
  }

  TRIL_UNROLL for (int row = 0; row < Rows; ++row) TRIL_UNROLL for (int i = 0; i < Panels * per_panel; ++i)
      store(scores + row * split_keys + i * width, sum[row][i]);
  if constexpr (Kind != score_tile::with_maxima) return;
  TRIL_UNROLL for (int row = 0; row < Rows; ++row) TRIL_UNROLL for (int i = 0; i < per_panel; ++i) {
    float* at = lane_max + row * panel_keys + i * width;
    vec m = load(at);
    TRIL_UNROLL for (int p = 0; p < Panels; ++p) m = max(m, sum[row][p * per_panel + i]);
    store(at, m);
  }
}

/// Panels that go with a tile of so many rows: with few rows, more panels keep enough sums under way.
constexpr int score_tile_panels(int rows) {
  if (rows == tiles.qk_rows) return tiles.qk_panels;
  const int panels = 8 * width / (rows * panel_keys);
  return panels < 1 ? 1 : panels < view_panels ? panels : view_panels;
}

/// Scores of one tile of `rows` rows against `panels` panels, panel i in columns 16 i .... `ahead(p, count)` is what
/// to ask for while those of panels p ... p + count - 1 are computed.
template <score_tile Kind, class Ahead>
inline void qk(int rows, const float* q, const void* const* k, int panels, std::int64_t dim, float* scores,
               float* lane_max, Ahead ahead) {
  with_tile_rows(rows, [&]<int Rows>() {
    constexpr int at_once = score_tile_panels(Rows);
    int p = 0;
    for (; p + at_once <= panels; p += at_once)
      qk_tile<Rows, at_once, Kind>(q, k + p, dim, scores + p * panel_keys, lane_max, ahead(p, at_once));
    for (; p < panels; ++p) qk_tile<Rows, 1, Kind>(q, k + p, dim, scores + p * panel_keys, lane_max, ahead(p, 1));
  });
}

}  // namespace
}  // namespace tril::TRIL_ISA
