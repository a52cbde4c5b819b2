#include "load/process_watch.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace cmcp::load {

namespace {

double cpu_seconds(const std::filesystem::path& process)
{
    std::ifstream file(process / "stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    // The command in parentheses may hold blanks; utime and stime are the 12th and 13th words after it.
    std::istringstream words(text.substr(text.rfind(')') + 1));
    std::string word;
    for (int i = 0; i < 11; ++i) words >> word;
    double user = 0, system = 0;
    words >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
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
    process_figures found;
    for (std::filesystem::directory_iterator each(process / "fd", error), end; !error && each != end; each.increment(error))
        ++found.descriptors;
    if (error) return std::nullopt;
    found.cpu_seconds = cpu_seconds(process);
    read_memory(process, found);
    return found;
}

}  // namespace cmcp::load
