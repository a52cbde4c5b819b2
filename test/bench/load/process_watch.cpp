#include "load/process_watch.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace cmcp::load {

namespace {

// The sum over all threads from schedstat, in nanoseconds (Documentation/scheduler/sched-stats.rst), because
// /proc/PID/stat counts in ticks of 10 ms.
double cpu_seconds(const std::filesystem::path& process)
{
    double sum = 0;
    std::error_code error;
    for (std::filesystem::directory_iterator each(process / "task", error), end; !error && each != end;
         each.increment(error)) {
        std::ifstream file(each->path() / "schedstat");
        double nanoseconds = 0;
        if (file >> nanoseconds) sum += nanoseconds / 1e9;
    }
    return sum;
}

void read_memory(const std::filesystem::path& process, process_figures& into)
{
    std::ifstream file(process / "smaps_rollup");
    std::string name;
    std::uint64_t kib = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        if (!(words >> name >> kib)) continue;
        if (name == "Rss:") into.resident = kib * 1024;
        if (name == "Anonymous:") into.anonymous = kib * 1024;
    }
}

}  // namespace

std::optional<process_figures> look_at_process(int pid)
{
    auto process = std::filesystem::path("/proc") / std::to_string(pid);
    std::error_code error;
    process_figures figures;
    for (std::filesystem::directory_iterator each(process / "fd", error), end; !error && each != end;
         each.increment(error))
        ++figures.descriptors;
    if (error) return std::nullopt;
    figures.cpu_seconds = cpu_seconds(process);
    read_memory(process, figures);
    return figures;
}

}  // namespace cmcp::load
