/// The projection behind attention through the public interface: many rows as a share of this machine's multiply-add
/// peak, one row, with a weight that is in no cache, as a share of its read bandwidth. Where OpenBLAS was found, the
/// same beside it, under the instruction set's place in the name.

#if defined(TRIL_OPENBLAS)
#include <cblas.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "support/case.hpp"
#include "support/sample.hpp"

namespace tril::bench {
namespace {

constexpr std::size_t cold_bytes = std::size_t{512} << 20;  // several times a last-level cache
constexpr const char* openblas = "openblas";

struct size {
  const char* name;
  std::int64_t in, out;
};

struct where {
  size what;
  std::int64_t rows;
  int threads;
  std::string isa;  // or openblas
};

/// One weight, projected by one of the two.
class layer {
 public:
  layer(const context& ctx, const where& w, unsigned seed) : w_(w) {
    elements weight = normal_values(static_cast<std::size_t>(w.what.in * w.what.out), seed);
    if (w.isa == openblas)
      weight_ = std::move(weight);
    else
      projection_ =
          std::make_unique<projection>(ctx, linear{.in = w.what.in, .out = w.what.out, .weight = weight.data()});
  }

  /// Seconds; negative if it failed.
  double run(const elements& x, elements& y) const {
    const double begin = now();
    return project(x, y) ? now() - begin : -1;
  }

 private:
  bool project(const elements& x, elements& y) const {
    const auto [name, in, out] = w_.what;
    if (projection_)
      return bool(projection_->run(bthd(x.data(), 1, w_.rows, 1, in), bthd(y.data(), 1, w_.rows, 1, out)));
#if defined(TRIL_OPENBLAS)
    const auto size = [](std::int64_t value) { return static_cast<blasint>(value); };
    if (w_.rows == 1)
      cblas_sgemv(CblasRowMajor, CblasNoTrans, size(out), size(in), 1.0f, weight_.data(), size(in), x.data(), 1, 0.0f,
                  y.data(), 1);
    else
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size(w_.rows), size(out), size(in), 1.0f, x.data(), size(in),
                  weight_.data(), size(in), 0.0f, y.data(), size(out));
#endif
    return true;
  }

  where w_;
  elements weight_;
  std::unique_ptr<projection> projection_;
};

/// The instruction set whose limits a benchmark is compared with.
std::string limits_of(const where& w) { return w.isa == openblas ? std::string(context().isa()) : w.isa; }

void use_threads([[maybe_unused]] int threads) {
#if defined(TRIL_OPENBLAS)
  openblas_set_num_threads(threads);
#endif
}

void many_rows(benchmark::State& state, const where& w) {
  const std::string isa = limits_of(w);
  const context ctx({.isa = isa.c_str(), .threads = w.threads});
  const limits machine(kernels_of(isa), w.threads);
  use_threads(w.threads);
  const layer l(ctx, w, 1);
  const elements x = normal_values(static_cast<std::size_t>(w.rows * w.what.in), 2);
  elements y(static_cast<std::size_t>(w.rows * w.what.out));
  l.run(x, y);  // touches the memory
  const double flops = 2.0 * static_cast<double>(w.rows * w.what.in) * static_cast<double>(w.what.out);
  sample_of_peak(state, machine, flops, [&] { return l.run(x, y); });
}

/// Every run takes another weight, of so many that none is left in the processor's caches.
void one_row_cold(benchmark::State& state, const where& w) {
  const std::string isa = limits_of(w);
  const context ctx({.isa = isa.c_str(), .threads = w.threads});
  const limits machine(kernels_of(isa), w.threads);
  use_threads(w.threads);
  const auto count = static_cast<std::size_t>(w.what.in * w.what.out);
  const std::size_t weights = std::max<std::size_t>(3, cold_bytes / (count * sizeof(float)));
  std::vector<layer> layers;
  for (std::size_t i = 0; i < weights; ++i) layers.emplace_back(ctx, w, static_cast<unsigned>(i + 1));
  const elements x = normal_values(static_cast<std::size_t>(w.what.in), 2);
  const elements read = normal_values(weights * count, 3);
  elements y(static_cast<std::size_t>(w.what.out));
  std::size_t next = 0;
  const auto run = [&] {
    next = (next + 1) % weights;
    return layers[next].run(x, y);
  };
  const auto limit = [&] {
    const std::span<const float> buffer[] = {{read.data() + next * count, count}};  // as cold
    return machine.bandwidth(buffer);
  };
  sample_of_bandwidth(state, static_cast<double>(count * sizeof(float)), run, limit);
}

void add_projections() {
  const shape unnamed[] = {{.name = "qwen3-0.6b", .model = {}}, {.name = "llama-7b", .model = {}}};
  const size sizes[] = {{"qwen3-0.6b", 2048, 1024}, {"llama-7b", 4096, 4096}};
  const auto add_one = [](const where& w, const std::string& name) {
    const int samples = w.rows == 1 ? 31 : w.rows <= 64 ? 15 : 7;
    add(name + (w.rows == 1 ? "/cold" : ""), samples, [w](benchmark::State& state) {
      w.rows == 1 ? one_row_cold(state, w) : many_rows(state, w);
    })->Unit(benchmark::kMillisecond);
  };
  for (std::size_t i = 0; i < std::size(sizes); ++i)
    for_each_setting({unnamed[i]}, {1, 64, 512, 2048}, [&](const setting& s) {
      add_one({sizes[i], s.tokens, s.threads, s.isa}, s.name("projection"));
#if defined(TRIL_OPENBLAS)
      setting other = s;
      other.isa = openblas;
      if (s.isa == context().isa()) add_one({sizes[i], s.tokens, s.threads, other.isa}, other.name("projection"));
#endif
    });
}

}  // namespace
}  // namespace tril::bench

int main(int argc, char** argv) {
#if defined(TRIL_OPENBLAS)
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) {  // read before main: start again without it
    unsetenv("OPENBLAS_CORETYPE");
    execv("/proc/self/exe", argv);
  }
  benchmark::AddCustomContext("openblas_kernel", openblas_get_corename());
#endif
  tril::bench::add_projections();
  return tril::bench::run_benchmarks(argc, argv, "projection/f32/.*/(1|64|512)/1/(avx512|openblas).*");
}
