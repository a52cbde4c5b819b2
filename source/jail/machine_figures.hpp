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

}  // namespace cmcp::sandbox
