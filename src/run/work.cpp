#include "run/work.hpp"

#include <algorithm>

namespace tril::run {

std::unique_ptr<work> make_work(planning::problem problem, const contract::kernel_table& kernels, int workers) {
  std::int64_t rows = 0;
  for (const planning::sequence& s : problem.sequences) rows = std::max(rows, s.rows);
  // As long as all rows of a KV head go through a kernel together, packing would be read only once.
  const bool few = rows <= 16 && rows * problem.group() <= kernels.tiles.block_rows;
  return few ? make_decode(std::move(problem), kernels, workers) : make_prefill(std::move(problem), kernels, workers);
}

}  // namespace tril::run
