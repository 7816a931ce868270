#pragma once

namespace tril::parallel {

/// CPUs' worth of time that the control groups of this process leave it, rounded up, at least 1: the least of its own
/// group's and those around it, of version 2 and version 1. INT_MAX if there is no limit, or none that can be read.
/// `root` stands in front of all paths: "" for those of the system.
int cpu_quota(const char* root) noexcept;

}  // namespace tril::parallel
