/// Instruction sets chosen by name: that they are what computes, also side by side in one process.

#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "cases/inputs.hpp"
#include "isa/computed_pairs.hpp"
#include "support/require.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

std::vector<const char*> supported_isas() {
  std::vector<const char*> names;
  for (std::int32_t i = 0; const char* name = tril_isa_name(i); ++i)
    if (tril_isa_supported(name) == 1) names.push_back(name);
  return names;
}

/// Problems of many rows and of few.
std::vector<recipe> recipes() {
  const recipe prefill = {.rows = 50, .keys = 300, .q_heads = 4, .kv_heads = 2, .dim = 20, .value_dim = 70};
  recipe decode = prefill;
  decode.rows = 1;
  return {prefill, decode};
}

}  // namespace

TEST_CASE("An instruction set that is reported while another one computes") {
  for (const char* name : supported_isas())
    for (const recipe& r : recipes()) {
      CAPTURE(name);
      workload w = random_workload(r);
      const std::int64_t before = computed_pairs;
      require(w.run(context({.isa = name, .threads = 1})));
      // The test instruction sets count what they compute, and the others do not.
      CHECK((computed_pairs > before) == std::string_view(name).starts_with("test"));
    }
}

TEST_CASE("Instruction sets that share code or state with one another") {
  const std::vector<const char*> names = supported_isas();
  for (const recipe& r : recipes()) {
    std::vector<report> found(names.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < names.size(); ++i)
      threads.emplace_back([&r, name = names[i], &outcome = found[i]] {
        const context ctx({.isa = name, .threads = 1});
        workload w = random_workload(r);
        for (int repetition = 0; repetition < 5 && outcome.ok; ++repetition) outcome = verify(ctx, w);
      });
    for (std::thread& t : threads) t.join();
    for (std::size_t i = 0; i < names.size(); ++i) {
      CAPTURE(names[i]);
      require(found[i]);
    }
  }
}

TEST_CASE("An instruction set that changes under a context with the environment") {
  const char* asked = std::getenv("TRIL_ISA");
  const std::string asked_before = asked != nullptr ? asked : "";
  const context ctx = context_under_test();
  const std::string isa = ctx.isa(), other = isa == "scalar" ? "test3x1" : "scalar";
  setenv("TRIL_ISA", other.c_str(), 1);
  CHECK(ctx.isa() == isa);
  CHECK(context().isa() == other);
  for (const recipe& r : recipes()) {
    workload w = random_workload(r);
    const report unchanged = verify(ctx, w);
    INFO(unchanged.text);
    CHECK(unchanged.ok);
  }
  asked_before.empty() ? unsetenv("TRIL_ISA") : setenv("TRIL_ISA", asked_before.c_str(), 1);
}
