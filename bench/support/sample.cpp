#include "support/sample.hpp"

#include <vector>

namespace tril::bench {
namespace {

struct naming {
  const char *rate, *limit, *share;
};

/// `sample` gives the seconds of a run and the limit beside it.
template <class Sample>
double sample(benchmark::State& state, const naming& name, double amount, Sample sample) {
  std::vector<double> rates, limits, shares;
  for (auto _ : state) {
    const auto [seconds, limit] = sample();
    if (seconds < 0) {
      state.SkipWithError("the call failed");
      return -1;
    }
    state.SetIterationTime(seconds);
    rates.push_back(amount / seconds);
    limits.push_back(limit);
    shares.push_back(rates.back() / limit);
  }
  state.counters[name.rate] = median(rates) * 1e-9;
  state.counters[name.limit] = median(limits) * 1e-9;
  state.counters[name.share] = median(shares);
  return median(rates);
}

struct taken {
  double seconds, limit;
};

}  // namespace

double sample_of_peak(benchmark::State& state, const limits& machine, double flops,
                      const std::function<double()>& run) {
  return sample(state, {"GFLOP/s", "peak_GFLOP/s", "of_peak"}, flops, [&] {
    const double before = machine.flops(), seconds = run();
    return taken{seconds, (before + machine.flops()) / 2};
  });
}

double sample_of_bandwidth(benchmark::State& state, double bytes, const std::function<double()>& run,
                           const std::function<double()>& limit) {
  return sample(state, {"GB/s", "limit_GB/s", "of_bandwidth"}, bytes, [&] {
    const double seconds = run();
    return taken{seconds, limit()};
  });
}

}  // namespace tril::bench
