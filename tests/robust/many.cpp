/// Ten thousand of everything: no thread, file or memory stays behind.

#include <malloc.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/require.hpp"
#include "support/sanitized.hpp"
#include "support/verify.hpp"

using namespace tril;
using namespace tril::test;

namespace {

constexpr int many = 10'000;

struct usage {
  std::ptrdiff_t threads, files;
  std::int64_t resident_kib;
  std::size_t allocated_bytes;  // 0 where a sanitizer brings the allocator; it looks for leaks itself
};

usage usage_of_process() {
  const auto entries = [](const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  };
  usage u = {entries("/proc/self/task"), entries("/proc/self/fd"), 0, 0};
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) u.resident_kib = std::stoll(line.substr(6));
  const auto heap = mallinfo2();
  u.allocated_bytes = heap.uordblks + heap.hblkhd;
  return u;
}

/// Makes and destroys with make() until everything that is made once is there, and then ten thousand more.
template <class Make>
void make_many(Make make) {
  for (int i = 0; i < 100; ++i) make();
  const usage before = usage_of_process();
  for (int i = 0; i < many; ++i) make();
  const usage after = usage_of_process();
  CHECK(after.threads <= before.threads);
  CHECK(after.files == before.files);
  // Less than a byte each; the least that malloc gives takes 32.
  CHECK(after.allocated_bytes < before.allocated_bytes + many);
  // Pages come and go: 100 bytes each.
  if constexpr (!sanitized) CHECK(after.resident_kib < before.resident_kib + many * 100 / 1024);
}

}  // namespace

TEST_CASE("Ten thousand contexts leave nothing behind") {
  const auto in_order = [](void*, std::int64_t count, void (*task)(void*, std::int64_t), void* closure) {
    for (std::int64_t i = 0; i < count; ++i) task(closure, i);
  };
  make_many([] { REQUIRE(context({.threads = 1})); });
  make_many([] { REQUIRE(context({.threads = 3})); });
  make_many([] { REQUIRE(context()); });
  make_many([&] { REQUIRE(context({.threads = 3, .executor = {nullptr, in_order}})); });
  make_many([] { REQUIRE(!context({.isa = "nonsense"})); });
}

TEST_CASE("Ten thousand plans leave nothing behind, whether they run or not") {
  const recipe prefill = {.batch = 2, .rows = 20, .keys = 40, .q_heads = 2, .dim = 4, .value_dim = 4};
  recipe decode = prefill;
  decode.rows = 1;
  decode.keys = 600;
  for (const int threads : {1, 2}) {
    const context ctx({.threads = threads});
    for (const recipe& r : {prefill, decode}) {
      workload w(r, seed());
      require(verify(ctx, w));
      problem refused = w.problem();
      refused.lse.extents[3] = 2;
      make_many([&] { REQUIRE(plan(ctx, w.problem())); });
      make_many([&] { REQUIRE(!plan(ctx, refused)); });
    }
    workload w(decode, seed());
    make_many([&] { REQUIRE(plan(ctx, w.problem()).run(w.data())); });
    make_many([&] { REQUIRE(plan(context({.threads = threads}), w.problem()).run(w.data())); });
  }
}
