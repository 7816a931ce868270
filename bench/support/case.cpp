#include "support/case.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "dispatch/registry.hpp"
#include "parallel/executor.hpp"
#include "tril/machine.hpp"

namespace tril::bench {

namespace {

/// A reporter without the library's own additions to a benchmark's name ("/manual_time").
template <class Reporter>
class plain_names final : public Reporter {
 public:
  using Reporter::Reporter;
  void ReportRuns(const std::vector<benchmark::BenchmarkReporter::Run>& runs) override {
    auto renamed = runs;
    for (auto& run : renamed) run.run_name.time_type = run.run_name.iterations = "";
    Reporter::ReportRuns(renamed);
  }
};

}  // namespace

std::vector<shape> preset_shapes() {
  std::vector<shape> shapes;
  for (const tool::preset& model : tool::presets())
    if (model.dim <= contract::max_dim) shapes.push_back({.name = std::string(model.name), .model = model});
  return shapes;
}

void for_each_setting(const std::vector<shape>& shapes, const std::vector<std::int64_t>& tokens,
                      const std::function<void(const setting&)>& use) {
  // Asked for once: a virtual machine stops at each of these questions.
  static const std::vector<int> thread_counts = [] {
    const int all = parallel::available_threads();
    return all > 1 ? std::vector{1, all} : std::vector{1};
  }();
  static const std::vector<std::string> isas = [] {
    std::vector<std::string> names;
    for (const dispatch::isa& isa : dispatch::built_isas())
      if (isa.supported()) names.push_back(isa.kernels->name);
    return names;
  }();
  for (const shape& what : shapes)
    for (const std::int64_t count : tokens)
      for (const int threads : thread_counts)
        for (const std::string& isa : isas) use({what, count, threads, isa});
}

const contract::kernel_table& kernels_of(std::string_view isa) { return *dispatch::find(isa)->kernels; }

elements normal_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  // A period that is a prime number of values: long enough to look random, quick to make.
  std::vector<float> period(65521);
  for (float& x : period) x = normal(generator);
  elements values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = period[i % period.size()];
  return values;
}

benchmark::internal::Benchmark* add(const std::string& name, int samples, std::function<void(benchmark::State&)> body) {
  return benchmark::RegisterBenchmark(name.c_str(), std::move(body))->UseManualTime()->Iterations(samples);
}

int run_benchmarks(int argc, char** argv, const char* default_filter) {
  std::vector<char*> arguments(argv, argv + argc);
  const bool filtered = std::any_of(arguments.begin(), arguments.end(), [](const char* a) {
    return std::strncmp(a, "--benchmark_filter", std::strlen("--benchmark_filter")) == 0;
  });
  std::string filter = std::string("--benchmark_filter=") + default_filter;
  if (!filtered) arguments.insert(arguments.begin() + 1, filter.data());
  arguments.push_back(nullptr);
  int count = static_cast<int>(arguments.size()) - 1;
  benchmark::AddCustomContext("tril_version", tril::version());
  benchmark::AddCustomContext("cpu", tool::cpu_model());
  benchmark::AddCustomContext("best_isa", context().isa());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  using console_reporter = benchmark::ConsoleReporter;
  plain_names<console_reporter> console(isatty(STDOUT_FILENO) ? console_reporter::OO_ColorTabular
                                                              : console_reporter::OO_None);
  plain_names<benchmark::JSONReporter> json;
  const bool to_file = std::any_of(argv, argv + argc, [](const char* a) {
    return std::strncmp(a, "--benchmark_out=", std::strlen("--benchmark_out=")) == 0;
  });
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks(&console, to_file ? &json : nullptr);
  benchmark::Shutdown();
  return ran == 0 ? 2 : 0;
}

}  // namespace tril::bench
