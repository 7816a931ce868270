#include "support/guarded.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "support/catch.hpp"
#include "support/tensor.hpp"

using namespace tril::test;

namespace {

/// Whether reading a byte ends a process by a memory fault.
bool faults(const void* byte) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, [](int) { _exit(1); });
    static_cast<void>(*static_cast<const volatile char*>(byte));
    _exit(0);
  }
  int outcome = 0;
  waitpid(child, &outcome, 0);
  return WIFEXITED(outcome) && WEXITSTATUS(outcome) == 1;
}

}  // namespace

TEST_CASE("One byte beyond a guarded buffer faults") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1023}, std::size_t{1024}}) {
    CAPTURE(count);
    const guarded<float> ends(count, touching::end), starts(count, touching::start);
    const auto* behind = reinterpret_cast<const char*>(ends.data() + count);
    const auto* before = reinterpret_cast<const char*>(starts.data()) - 1;
    CHECK(faults(behind));
    CHECK(faults(before));
    if (count > 0) CHECK_FALSE(faults(behind - 1));
    if (count > 0) CHECK_FALSE(faults(before + 1));
  }
}

TEST_CASE("Guarded buffers are poisoned all over") {
  const guarded<float> buffer(3);
  for (const std::uint32_t word : buffer.memory().reachable_words()) REQUIRE(word == poison);
}

TEST_CASE("A tensor's storage is what was asked for") {
  const float_tensor plain({2, 3, 4, 5}, token_major, poison), by_head({2, 3, 4, 5}, head_major, poison);
  const auto strides = [](const float_tensor& t) {
    return std::vector<std::int64_t>(t.layout().strides, t.layout().strides + 4);
  };
  CHECK(strides(plain) == std::vector<std::int64_t>{60, 20, 5, 1});
  CHECK(strides(by_head) == std::vector<std::int64_t>{60, 5, 15, 1});
  const float_tensor odd({2, 3, 4, 5}, {.order = {1, 2, 0}, .reversed = {true, false, true}, .padding = 2, .lead = 1},
                         poison);
  CHECK(strides(odd) == std::vector<std::int64_t>{-7, 56, -14, 1});
  CHECK_FALSE(faults(&odd.at(0, 2, 0, 4)));
  CHECK(faults(&odd.at(0, 2, 0, 5)));  // the last row in memory ends where the unreadable page begins
  CHECK_FALSE(faults(&odd.at(1, 0, 3, 0)));
}

TEST_CASE("A tensor notices every write that does not belong") {
  float_tensor t({2, 2, 1, 3}, {.padding = 1, .lead = 1}, canary);
  const auto first_sequence = [](std::int64_t sequence, std::int64_t) { return sequence == 0; };
  const auto write = [&](std::int64_t sequence, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) t.at(sequence, i / 3, 0, i % 3) = 1.0f;
  };
  CHECK_FALSE(t.holds_fill_except(first_sequence));  // nothing was written
  write(0, 6);
  CHECK(t.holds_fill_except(first_sequence));
  write(1, 1);
  CHECK_FALSE(t.holds_fill_except(first_sequence));  // a row that does not exist
  t.reset(canary);
  write(0, 5);
  CHECK_FALSE(t.holds_fill_except(first_sequence));  // an element is missing
  write(0, 6);
  t.at(0, 0, 0, -1) = 1.0f;
  CHECK_FALSE(t.holds_fill_except(first_sequence));  // in front
  t.reset(canary);
  write(0, 6);
  t.at(0, 0, 0, 3) = 1.0f;
  CHECK_FALSE(t.holds_fill_except(first_sequence));  // between rows
}
