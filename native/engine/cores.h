// How many cores this process may use, as opposed to how many the machine has.
#pragma once

#include <cstddef>
#include <string>

namespace penstock {

/// Cores this process may use (affinity and CPU quota of its control groups included), at least 1.
[[nodiscard]] std::size_t usable_cores();

/// Cores that the tightest CPU quota of this process's control groups is worth; 0 if there is none.
/// `root` stands before /proc and /sys: empty but in tests.
[[nodiscard]] double quota_cores(const std::string& root);

}  // namespace penstock
