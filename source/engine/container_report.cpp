#include "engine/container_report.hpp"

#include <algorithm>
#include <charconv>

namespace cmcp::engine {
namespace {

std::uint64_t number(std::string_view text)
{
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// Names are those of cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), then of v1.
void take(container_report& into, std::string_view name, std::string_view value)
{
    if (name == "code") into.code = static_cast<int>(number(value));
    if (name == "lacks") into.lacks = std::string(value);
    if (name == "memory.events oom_kill" || name == "memory/memory.oom_control oom_kill")
        into.out_of_memory |= number(value) != 0;
    if (name == "pids.events max" || name == "pids/pids.events max") into.out_of_processes |= number(value) != 0;
    if (name == "memory.peak" || name == "memory/memory.max_usage_in_bytes") into.peak_memory = number(value);
    if (name == "cpu.stat usage_usec") into.cpu = std::chrono::microseconds(number(value));
    if (name == "cpuacct/cpuacct.usage") into.cpu = std::chrono::microseconds(number(value) / 1000);
}

}  // namespace

container_report read_report(std::string_view text)
{
    container_report report;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (const auto space = line.rfind(' '); space != std::string_view::npos)
            take(report, line.substr(0, space), line.substr(space + 1));
    }
    return report;
}

}  // namespace cmcp::engine
