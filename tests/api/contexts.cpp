/// Contexts: which instruction set, how many threads.

#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/context.hpp"
#include "tril/version.hpp"

using namespace tril;
using namespace tril::test;

namespace {

std::string_view message(const context& ctx) { return ctx.status().message(); }

/// The environment's TRIL_ISA, changed for as long as this lives.
class isa_in_environment {
 public:
  explicit isa_in_environment(const char* name) {
    if (const char* before = std::getenv("TRIL_ISA")) saved_ = before;
    setenv("TRIL_ISA", name, 1);
  }
  ~isa_in_environment() {
    if (saved_.empty())
      unsetenv("TRIL_ISA");
    else
      setenv("TRIL_ISA", saved_.c_str(), 1);
  }
  isa_in_environment(const isa_in_environment&) = delete;
  isa_in_environment& operator=(const isa_in_environment&) = delete;

 private:
  std::string saved_;
};

}  // namespace

TEST_CASE("Every instruction set of the build is used when it is named, or refused") {
  std::set<std::string> names;
  for (std::int32_t i = 0; const char* name = tril_isa_name(i); ++i) {
    CAPTURE(name);
    CHECK(names.insert(name).second);
    const context ctx({.isa = name, .threads = 1});
    if (tril_isa_supported(name) == 1) {
      CHECK(ctx);
      CHECK(std::string_view(ctx.isa()) == name);
    } else {
      CHECK(ctx.status().code() == code::unsupported);
      CHECK(message(ctx).starts_with("isa:"));
      CHECK(message(ctx).find(name) != std::string_view::npos);
    }
  }
  CHECK(names.count("scalar") == 1);
  CHECK(names.count("unsupported") == 1);
  CHECK(tril_isa_supported("unsupported") == 0);
  CHECK(tril_isa_supported("scalar") == 1);
  CHECK(tril_isa_supported("nonsense") == 0);
  CHECK(tril_isa_supported(nullptr) == 0);
  CHECK(tril_isa_name(-1) == nullptr);
  CHECK(tril_isa_name(INT32_MAX) == nullptr);
}

TEST_CASE("An unknown instruction set is refused, however long its name") {
  for (const std::string& name :
       {std::string("nonsense"), std::string(), std::string("AVX2"), std::string(1000, 'x')}) {
    const context ctx({.isa = name.c_str()});
    CHECK(ctx.status().code() == code::invalid_argument);
    CHECK(message(ctx).starts_with("isa:"));
    CHECK(message(ctx).size() < TRIL_MESSAGE_BYTES);
  }
}

TEST_CASE("TRIL_ISA chooses where no name is given, and is checked like one") {
  {
    const isa_in_environment set("scalar");
    CHECK(std::string_view(context().isa()) == "scalar");
    CHECK(std::string_view(context({.isa = "test3x1"}).isa()) == "test3x1");
  }
  {
    const isa_in_environment set("nonsense");
    const context ctx;
    CHECK(ctx.status().code() == code::invalid_argument);
    CHECK(message(ctx).starts_with("TRIL_ISA:"));
  }
  {
    const isa_in_environment set("unsupported");
    const context ctx;
    CHECK(ctx.status().code() == code::unsupported);
    CHECK(message(ctx).starts_with("TRIL_ISA:"));
  }
  {
    const isa_in_environment set("");
    CHECK(std::string_view(context().isa()) == dispatch::best().kernels->name);
  }
}

TEST_CASE("The number of threads is what was asked for, or the cores there are") {
  for (const int threads : {1, 2, 7, 1024}) CHECK(context({.threads = threads}).threads() == threads);
  CHECK(context().threads() >= 1);
  for (const int threads : {-1, INT32_MIN, 1025, INT32_MAX}) {
    const context ctx({.threads = threads});
    CHECK(ctx.status().code() == code::invalid_argument);
    CHECK(message(ctx).starts_with("threads:"));
  }
}

TEST_CASE("The struct of a context is checked, and may be missing") {
  tril_context* made = nullptr;
  REQUIRE(tril_context_create(nullptr, &made).code == TRIL_OK);
  CHECK(tril_context_threads(made) >= 1);
  tril_context_destroy(made);

  const auto refused = [&](const tril_context_args& args, tril_code code) {
    made = reinterpret_cast<tril_context*>(&made);
    const tril_status s = tril_context_create(&args, &made);
    return s.code == code && std::string_view(s.message).starts_with("args:") && made == nullptr;
  };
  struct {
    tril_context_args known = TRIL_CONTEXT_ARGS_INIT;
    std::uint64_t unknown = 1;
  } larger;
  larger.known.struct_size = 0;
  CHECK(refused(larger.known, TRIL_INVALID_ARGUMENT));
  larger.known.struct_size = sizeof larger.known - 1;
  CHECK(refused(larger.known, TRIL_INVALID_ARGUMENT));
  larger.known.struct_size = sizeof larger;
  CHECK(refused(larger.known, TRIL_UNSUPPORTED));
  tril_context_args early = TRIL_CONTEXT_ARGS_INIT;
  early.struct_size = offsetof(tril_context_args, executor);
  early.executor.parallel_for = reinterpret_cast<decltype(early.executor.parallel_for)>(8);  // behind the end
  CHECK(tril_context_create(&early, &made).code == TRIL_OK);
  tril_context_destroy(made);
  larger.unknown = 0;
  CHECK(tril_context_create(&larger.known, &made).code == TRIL_OK);
  tril_context_destroy(made);

  const tril_status s = tril_context_create(nullptr, nullptr);
  CHECK(s.code == TRIL_INVALID_ARGUMENT);
  CHECK(std::string_view(s.message).starts_with("context:"));
  tril_context_destroy(nullptr);
  CHECK(std::string_view(tril_context_isa(nullptr)).empty());
  CHECK(tril_context_threads(nullptr) == 0);
}

TEST_CASE("The library and its headers have one version") {
  CHECK(std::string(version()) ==
        std::to_string(version_major) + "." + std::to_string(version_minor) + "." + std::to_string(version_patch));
}
