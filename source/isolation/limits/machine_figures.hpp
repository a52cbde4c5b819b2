#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// The contents of the files of /proc that tell of the machine (proc_meminfo(5), proc_cpuinfo(5), proc_stat(5),
/// proc_loadavg(5)) in a run that may use `memory` bytes: that much memory, and the processors that this process may
/// use. How busy the machine is, they do not say. Pairs of file name and content.
std::vector<std::pair<std::string, std::string>> machine_figures(std::uint64_t memory);

/// Those files, and /proc/uptime, which is the kernel's own.
constexpr const char* figures_of_limits[] = {"meminfo", "cpuinfo", "stat", "loadavg"};
constexpr const char* kernels_figure = "uptime";

/// Watchers and watches of inotify(7) that the programs of one cell may have together.
constexpr const char* most_watchers = "16";
constexpr const char* most_watches = "8192";

/// Settings of the kernel that programs ask for, as files below /proc/sys (proc_sys(5)): those that say nothing of the
/// machine's name, its owner or what else it does, but values of the sandbox. The number of the boot is
/// a new one at each call. Pairs of path and content.
std::vector<std::pair<std::string, std::string>> kernel_settings();

/// A file of those that is the kernel's own, because each reading of it gives another number.
constexpr const char* kernels_setting = "sys/kernel/random/uuid";

}  // namespace cmcp::sandbox
