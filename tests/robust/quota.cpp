/// How many CPUs control groups leave, of trees that look like those of /proc and /sys.

#include <unistd.h>

#include <climits>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "parallel/cpu_quota.hpp"
#include "parallel/executor.hpp"
#include "support/catch.hpp"

using namespace tril;

namespace {

/// A folder that stands for the root of a system, while it lives.
class fake_root {
 public:
  explicit fake_root(const std::map<std::string, std::string>& files) {
    std::string name = (std::filesystem::temp_directory_path() / "tril-quota-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root_ = name;
    for (const auto& [file, text] : files) {
      const std::filesystem::path path = name + file;
      create_directories(path.parent_path());
      std::ofstream(path) << text;
    }
  }
  ~fake_root() { remove_all(root_); }
  fake_root(const fake_root&) = delete;
  fake_root& operator=(const fake_root&) = delete;

  int quota() const { return parallel::cpu_quota(root_.c_str()); }

 private:
  std::filesystem::path root_;
};

int quota(const std::map<std::string, std::string>& files) { return fake_root(files).quota(); }

const std::string v2_mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string v1_mounts =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

/// Version 2, in the group /a/b, with these limits from the outermost in.
int quota_of_v2(const std::string& outer, const std::string& inner) {
  return quota({{"/proc/self/mountinfo", v2_mount},
                {"/proc/self/cgroup", "0::/a/b\n"},
                {"/sys/fs/cgroup/a/cpu.max", outer},
                {"/sys/fs/cgroup/a/b/cpu.max", inner},
                {"/sys/fs/cgroup/a/c/cpu.max", "100000 100000\n"}});  // a neighbour, who does not matter
}

int quota_of_v1(const std::string& quota_us, const std::string& period_us) {
  return quota({{"/proc/self/mountinfo", v1_mounts},
                {"/proc/self/cgroup", "9:cpuset:/x\n4:cpu,cpuacct:/a\n0::/x\n"},
                {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", quota_us},
                {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", period_us},
                {"/sys/fs/cgroup/cpuset/a/cpu.cfs_quota_us", "100000\n"},
                {"/sys/fs/cgroup/cpuset/a/cpu.cfs_period_us", "100000\n"}});
}

}  // namespace

TEST_CASE("Without control groups there is no quota") {
  CHECK(quota({}) == INT_MAX);
  CHECK(quota({{"/proc/self/mountinfo", ""}, {"/proc/self/cgroup", ""}}) == INT_MAX);
  CHECK(quota({{"/proc/self/mountinfo", v2_mount}}) == INT_MAX);
  CHECK(quota({{"/proc/self/mountinfo", v2_mount}, {"/proc/self/cgroup", "0::/a/b\n"}}) == INT_MAX);
}

TEST_CASE("A quota of version 2 is rounded up to whole CPUs") {
  CHECK(quota_of_v2("max 100000\n", "max 100000\n") == INT_MAX);
  CHECK(quota_of_v2("max 100000\n", "200000 100000\n") == 2);
  CHECK(quota_of_v2("max 100000\n", "200001 100000\n") == 3);
  CHECK(quota_of_v2("max 100000\n", "1000 100000\n") == 1);
  CHECK(quota_of_v2("max 100000\n", "150000 50000\n") == 3);
  CHECK(quota_of_v2("max 100000\n", "9223372036854775807 1\n") == INT_MAX);
}

TEST_CASE("The least quota of a group and of those around it counts") {
  CHECK(quota_of_v2("300000 100000\n", "max 100000\n") == 3);
  CHECK(quota_of_v2("300000 100000\n", "700000 100000\n") == 3);
  CHECK(quota_of_v2("700000 100000\n", "300000 100000\n") == 3);
  CHECK(quota({{"/proc/self/mountinfo", v2_mount},  // inside a container, whose group is the root of what it sees
               {"/proc/self/cgroup", "0::/\n"},
               {"/sys/fs/cgroup/cpu.max", "400000 100000\n"}}) == 4);
}

TEST_CASE("A quota of version 1 counts, of the hierarchy that has the cpu controller") {
  CHECK(quota_of_v1("-1\n", "100000\n") == INT_MAX);
  CHECK(quota_of_v1("250000\n", "100000\n") == 3);
  CHECK(quota_of_v1("50000\n", "100000\n") == 1);
  CHECK(quota_of_v1("250000\n", "") == INT_MAX);
}

TEST_CASE("The limits around a group of version 1 count") {
  CHECK(quota({{"/proc/self/mountinfo", v1_mounts},
               {"/proc/self/cgroup", "4:cpu,cpuacct:/a/b\n"},
               {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "200000\n"},
               {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"},
               {"/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n"},
               {"/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n"}}) == 2);
}

TEST_CASE("A mount that shows a part of the tree is where that part is") {
  const std::string container_mount =
      "33 31 0:30 /docker/12ab /sys/fs/cgroup/cpu ro,relatime master:9 - cgroup cgroup rw,cpu\n";
  const auto with_group = [&](const std::string& group) {
    return quota({{"/proc/self/mountinfo", container_mount},
                  {"/proc/self/cgroup", "4:cpu:" + group + "\n"},
                  {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "500000\n"},
                  {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
                  {"/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "200000\n"},
                  {"/sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n"}});
  };
  CHECK(with_group("/docker/12ab") == 5);
  CHECK(with_group("/docker/12ab/inner") == 2);
  CHECK(with_group("/docker/12abc/inner") == 5);  // another group, which cannot be seen
  CHECK(with_group("/inner") == 5);
  CHECK(with_group("/docker/12ab/../inner") == 5);
}

TEST_CASE("What makes no sense is no limit") {
  for (const char* text :
       {"", "\n", "0 100000\n", "100000 0\n", "-5 100000\n", "100000 -1\n", "100000\n", "many 100000\n", "1e5 100000\n",
        "100000 100000 100000\n", "99999999999999999999 100000\n"}) {
    CAPTURE(text);
    CHECK(quota_of_v2("max 100000\n", text) == INT_MAX);
  }
  for (const char* line :
       {"\n", "-\n", " - \n", " - cgroup2", "30 23 0:26 / - cgroup2 cgroup2 rw\n", "1 2 3 4 5 - cgroup\n"}) {
    CAPTURE(line);
    CHECK(quota({{"/proc/self/mountinfo", line}, {"/proc/self/cgroup", "0::/a\n:\n::\n\n4\n"}}) == INT_MAX);
  }
}

TEST_CASE("Lines and paths of any length are survived, and what stands behind them is read") {
  const std::string longest(100'000, 'x'), deep = [] {
    std::string path;
    for (int i = 0; i < 1000; ++i) path += "/abc";
    return path;
  }();
  CHECK(quota({{"/proc/self/mountinfo", longest + "\n" + v2_mount},
               {"/proc/self/cgroup", "4:" + longest + ":/\n0::/a\n"},
               {"/sys/fs/cgroup/a/cpu.max", "300000 100000\n"}}) == 3);
  CHECK(quota({{"/proc/self/mountinfo", "30 23 0:26 / " + deep + " rw - cgroup2 cgroup2 rw\n" + v2_mount},
               {"/proc/self/cgroup", "0::" + deep + "\n"},
               {"/sys/fs/cgroup/cpu.max", "300000 100000\n"}}) == 3);
  // The end of a line is no line, wherever the buffer of the one who reads it ends.
  for (std::size_t length = 4096; length < 4200; ++length)
    REQUIRE(quota({{"/proc/self/mountinfo", std::string(length, 'x') + v2_mount},
                   {"/proc/self/cgroup", "0::/\n"},
                   {"/sys/fs/cgroup/cpu.max", "300000 100000\n"}}) == INT_MAX);
}

TEST_CASE("No more threads are available than the quota of this process pays for") {
  CHECK(parallel::available_threads() >= 1);
  CHECK(parallel::available_threads() <= parallel::cpu_quota(""));
}
