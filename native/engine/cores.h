// How many cores this process may use, as opposed to how many the machine has.
#pragma once

#include <cstddef>
#include <string>

namespace penstock {

/// Cores this process may use (affinity and CPU quota of its control groups included), at least 1.
[[nodiscard]] std::size_t usable_cores();

/// Number of cores that the tightest CPU quota of this process's control groups allows; 0 without a quota. `root` is a
/// prefix for /proc and /sys, and is empty except in tests.
[[nodiscard]] double quota_cores(const std::string& root);

}  // namespace penstock
