#include "engine/cores.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace penstock {

namespace {

std::size_t affinity_cores() {
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<std::size_t>(CPU_COUNT(&set));
#endif
    return std::thread::hardware_concurrency();
}

// Quota over period, both in microseconds; 0 for "max", -1 and anything that is not a pair of numbers.
double cores_of(std::string_view quota, std::string_view period) {
    double quota_us = 0;
    double period_us = 0;
    std::from_chars(quota.data(), quota.data() + quota.size(), quota_us);
    std::from_chars(period.data(), period.data() + period.size(), period_us);
    return quota_us > 0 && period_us > 0 ? quota_us / period_us : 0;
}

double cores_of_version_2(const std::string& folder) {
    std::string quota, period;
    std::ifstream(folder + "/cpu.max") >> quota >> period;
    return cores_of(quota, period);
}

double cores_of_version_1(const std::string& folder) {
    std::string quota, period;
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
    return cores_of(quota, period);
}

// The tightest quota of a group and of all groups above it. In a container the group's path may be the host's and
// mean nothing here; the top, which always exists, is then the container's own.
template <typename Read>
double tightest(const std::string& mount, std::string group, Read read) {
    double tightest_so_far = 0;
    for (;;) {
        while (!group.empty() && group.back() == '/') group.pop_back();
        const double cores = read(mount + group);
        if (cores > 0 && (tightest_so_far == 0 || cores < tightest_so_far)) tightest_so_far = cores;
        if (group.empty()) return tightest_so_far;
        group.erase(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
    }
}

bool lists_cpu(std::string_view controllers) {
    return ("," + std::string(controllers) + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

double quota_cores(const std::string& root) {
    const std::string mount = root + "/sys/fs/cgroup";
    std::ifstream groups(root + "/proc/self/cgroup");
    double result = 0;
    // Lines are hierarchy:controllers:path; version 2 is the one without controllers.
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
        const std::string group = line.substr(second + 1);
        double cores = 0;
        if (controllers.empty()) cores = tightest(mount, group, cores_of_version_2);
        if (lists_cpu(controllers)) cores = tightest(mount + "/cpu", group, cores_of_version_1);
        if (cores > 0 && (result == 0 || cores < result)) result = cores;
    }
    return result;
}

std::size_t usable_cores() {
    const std::size_t cores = std::max<std::size_t>(1, affinity_cores());
    const double quota = quota_cores("");
    if (quota <= 0) return cores;
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(quota)), 1, cores);
}

}  // namespace penstock
