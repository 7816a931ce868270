/// Puts a child into a control group with a quota of its own and asks it how many threads it may use. Skipped where no
/// such group can be made: that takes root and a writable hierarchy.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "parallel/executor.hpp"

namespace {

constexpr int passed = 0, failed = 1, skipped = 77;  // Meson's exit codes
constexpr int not_moved = 255;

bool write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  return !out.fail();
}

/// What available_threads() says in a child that has moved to the group.
int threads_within(const std::filesystem::path& group) {
  const pid_t child = fork();
  if (child == 0) {
    const bool moved = write(group / "cgroup.procs", std::to_string(getpid()));
    _exit(moved ? tril::parallel::available_threads() : not_moved);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : not_moved;
}

/// The outcome with a new group below `parent` that is granted a third of one CPU.
int outcome_below(const std::filesystem::path& parent, const char* file, const char* quota) {
  const std::filesystem::path group = parent / ("tril-test-" + std::to_string(getpid()));
  std::error_code error;
  if (!exists(parent / "cgroup.procs", error) || !create_directory(group, error)) return skipped;
  const bool limited = exists(group / file, error) && write(group / file, quota);
  const int threads = limited ? threads_within(group) : not_moved;
  remove(group, error);
  if (threads == not_moved) return skipped;
  std::printf("%s: %d threads with %d without\n", group.c_str(), threads, tril::parallel::available_threads());
  return threads == 1 ? passed : failed;
}

}  // namespace

int main() {
  if (tril::parallel::available_threads() < 2) {
    std::puts("skipped: there is but one thread without a quota");
    return skipped;
  }
  int outcome = skipped;
  std::ifstream own("/proc/self/cgroup");
  for (std::string line; outcome == skipped && std::getline(own, line);) {
    const std::string group = line.substr(line.rfind(':') + 1);
    if (line.starts_with("0::"))
      outcome = outcome_below("/sys/fs/cgroup" + group, "cpu.max", "33000 100000");
    else if (line.find(":cpu:") != std::string::npos || line.find(":cpu,") != std::string::npos)
      outcome = outcome_below("/sys/fs/cgroup/cpu" + group, "cpu.cfs_quota_us", "33000");
  }
  if (outcome == skipped) std::puts("skipped: a control group with a quota cannot be made here");
  return outcome;
}
