#include "jail/machine_figures.hpp"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <sstream>

namespace cmcp::sandbox {
namespace {

std::vector<int> usable_processors()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> all;
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
        for (int each = 0; each < CPU_SETSIZE; ++each)
            if (CPU_ISSET(each, &set)) all.push_back(each);
    if (all.empty()) all.push_back(0);
    return all;
}

// Each processor has a paragraph. On some architectures a last one describes the machine, and is left out.
std::string processors_text(const std::vector<int>& usable)
{
    std::ifstream file("/proc/cpuinfo");
    std::string text, paragraph;
    int number = -1;
    const auto finish = [&] {
        if (std::find(usable.begin(), usable.end(), number) != usable.end()) text += paragraph + '\n';
        paragraph.clear();
        number = -1;
    };
    for (std::string line; std::getline(file, line);) {
        if (line.empty()) {
            finish();
            continue;
        }
        if (line.starts_with("processor"))
            number = static_cast<int>(std::strtol(line.c_str() + line.find(':') + 1, nullptr, 10));
        paragraph += line + '\n';
    }
    finish();
    if (!text.empty()) return text;
    for (const int each : usable) text += "processor\t: " + std::to_string(each) + "\n\n";
    return text;
}

std::string memory_text(std::uint64_t memory)
{
    const auto pages = static_cast<std::uint64_t>(std::max(0l, ::sysconf(_SC_PHYS_PAGES)));
    const std::uint64_t machine = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t total = (machine == 0 ? memory : std::min(memory, machine)) / 1024;
    std::ostringstream text;
    const auto line = [&text](const char* name, std::uint64_t kilobytes) {
        text << std::left << std::setw(16) << std::string(name) + ':' << std::right << std::setw(8) << kilobytes
             << " kB\n";
    };
    for (const char* all : {"MemTotal", "MemFree", "MemAvailable"}) line(all, total);
    for (const char* none :
         {"Buffers", "Cached", "SwapCached", "Active", "Inactive", "SwapTotal", "SwapFree", "Dirty", "Writeback",
          "AnonPages", "Mapped", "Shmem", "Slab", "SReclaimable", "SUnreclaim", "PageTables"})
        line(none, 0);
    line("CommitLimit", total);
    line("Committed_AS", 0);
    return text.str();
}

// Since when the kernel counts the ticks at which processes began; `ps` and `top` reckon with it.
std::int64_t boot_time()
{
    timespec now{}, since{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    ::clock_gettime(CLOCK_BOOTTIME, &since);
    return now.tv_sec - since.tv_sec;
}

std::string statistics_text(const std::vector<int>& usable)
{
    const std::string nothing = " 0 0 0 0 0 0 0 0 0 0\n";
    std::string text = "cpu " + nothing;
    for (const int each : usable) text += "cpu" + std::to_string(each) + nothing;
    return text + "intr 0\nctxt 0\nbtime " + std::to_string(boot_time()) +
           "\nprocesses 0\nprocs_running 1\nprocs_blocked 0\nsoftirq 0" + nothing;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> machine_figures(std::uint64_t memory)
{
    const auto usable = usable_processors();
    return {{"meminfo", memory_text(memory)},
            {"cpuinfo", processors_text(usable)},
            {"stat", statistics_text(usable)},
            {"loadavg", "0.00 0.00 0.00 1/1 1\n"}};
}

}  // namespace cmcp::sandbox
