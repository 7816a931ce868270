/// Control groups: https://docs.kernel.org/admin-guide/cgroup-v2.html (cpu.max) and
/// https://docs.kernel.org/scheduler/sched-bwc.html (version 1).

#include "parallel/cpu_quota.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>

namespace tril::parallel {
namespace {

using std::string_view;

constexpr int unlimited = INT_MAX;
constexpr std::size_t longest_line = 4096;

/// A path in memory that need not be allocated; one that does not fit is empty, and leads to no file.
class path {
 public:
  path(string_view front, string_view rest) {
    if (front.size() + rest.size() >= text_.size()) return;
    length_ = front.copy(text_.data(), front.size());
    length_ += rest.copy(text_.data() + length_, rest.size());
  }
  const char* c_str() const { return text_.data(); }
  string_view view() const { return {text_.data(), length_}; }
  void to_parent() {
    length_ = std::min(length_, view().rfind('/'));
    text_[length_] = '\0';
  }

 private:
  std::array<char, 2 * longest_line> text_ = {};
  std::size_t length_ = 0;
};

/// Calls use(line) for each line of a file, if it can be read; lines beyond any sense are passed over.
template <class Use>
void for_each_line(const path& file, Use use) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(
      std::fopen(file.c_str(), "re"), [](std::FILE* f) { return f != nullptr ? std::fclose(f) : 0; });
  char buffer[longest_line];
  bool whole = true;
  while (in != nullptr && std::fgets(buffer, sizeof buffer, in.get()) != nullptr) {
    string_view line = buffer;
    const bool begins = whole;
    whole = line.ends_with('\n');
    if (whole) line.remove_suffix(1);
    if (begins && (whole || std::feof(in.get()))) use(line);
  }
}

/// Takes what is in front of the separator off `rest`.
string_view next(string_view& rest, char separator) {
  const string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return part;
}

bool lists(string_view comma_separated, string_view name) {
  while (!comma_separated.empty())
    if (next(comma_separated, ',') == name) return true;
  return false;
}

/// A positive number, or 0.
std::int64_t number(string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::max<std::int64_t>(value, 0) : 0;
}

int cpus(std::int64_t quota, std::int64_t period) {
  if (quota == 0 || period == 0) return unlimited;
  return static_cast<int>(std::min<std::int64_t>((quota - 1) / period + 1, unlimited));
}

int quota_of_v2(string_view group) {
  int quota = unlimited;
  for_each_line({group, "/cpu.max"}, [&](string_view line) {  // "150000 100000", "max 100000"
    const std::int64_t granted = number(next(line, ' '));
    quota = cpus(granted, number(line));
  });
  return quota;
}

int quota_of_v1(string_view group) {
  std::int64_t granted = 0, period = 0;
  for_each_line({group, "/cpu.cfs_quota_us"}, [&](string_view line) { granted = number(line); });  // "-1": no limit
  for_each_line({group, "/cpu.cfs_period_us"}, [&](string_view line) { period = number(line); });
  return cpus(granted, period);
}

/// A hierarchy of groups, as a line of mountinfo tells: "32 31 0:29 <root> <point> rw - cgroup cgroup rw,cpu".
struct hierarchy {
  int version = 0;  // 0: not one that limits CPUs
  string_view root, point;

  explicit hierarchy(string_view line) {
    const std::size_t separator = line.find(" - ");
    if (separator == string_view::npos) return;
    string_view described = line.substr(separator + 3);
    line = line.substr(0, separator);
    for (int field = 0; field < 3; ++field) next(line, ' ');
    root = next(line, ' ');
    point = next(line, ' ');
    const string_view type = next(described, ' ');
    next(described, ' ');  // the source
    version = type == "cgroup2" ? 2 : type == "cgroup" && lists(described, "cpu") ? 1 : 0;
  }
};

/// The least quota of the group that a line of /proc/self/cgroup names, "0::/a/b" or "4:cpu,cpuacct:/a/b", and of those
/// around it that can be seen.
int least_quota(const char* system_root, const hierarchy& h, string_view line) {
  next(line, ':');
  const string_view controllers = next(line, ':');
  if (h.version == 2 ? !controllers.empty() : !lists(controllers, "cpu")) return unlimited;
  // What is mounted may be a part of the tree. A group outside it has the limits of the mount's own.
  const string_view within = h.root == "/" ? "" : h.root;
  const bool is_inside = line.starts_with(within) && line.substr(within.size()).starts_with('/');
  line = is_inside && line.find("/..") == string_view::npos ? line.substr(within.size()) : "";
  if (line == "/") line = "";

  const path mount(system_root, h.point);
  int least = unlimited;
  for (path group(mount.view(), line);; group.to_parent()) {
    least = std::min(least, h.version == 2 ? quota_of_v2(group.view()) : quota_of_v1(group.view()));
    if (group.view().size() <= mount.view().size()) return least;
  }
}

}  // namespace

int cpu_quota(const char* root) noexcept {
  int least = unlimited;
  for_each_line({root, "/proc/self/mountinfo"}, [&](string_view mounted) {
    const hierarchy h(mounted);
    if (h.version == 0) return;
    for_each_line({root, "/proc/self/cgroup"},
                  [&](string_view line) { least = std::min(least, least_quota(root, h, line)); });
  });
  return least;
}

}  // namespace tril::parallel
