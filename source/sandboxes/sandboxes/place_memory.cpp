#include "sandboxes/place_memory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace cmcp {

namespace {

namespace fs = std::filesystem;

std::uint64_t memory_of_the_machine()
{
    std::ifstream facts("/proc/meminfo");
    std::string name;
    std::uint64_t kibibytes = 0;
    return facts >> name >> kibibytes && name == "MemTotal:" ? kibibytes * 1024 : 0;
}

// The lowest limit of a group and of those around it. "max" is no number, and v1 writes one that no machine has.
std::uint64_t lowest_limit(const fs::path& hierarchy, const fs::path& group, const char* file, std::uint64_t lowest)
{
    for (fs::path at = group;; at = at.parent_path()) {
        std::ifstream in(hierarchy / at.relative_path() / file);
        std::uint64_t limit = 0;
        if (in >> limit && limit != 0 && (lowest == 0 || limit < lowest)) lowest = limit;
        if (at == at.parent_path()) return lowest;
    }
}

bool names_memory(const std::string& controllers)
{
    return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

}  // namespace

// cgroups(7): a line of /proc/self/cgroup is the hierarchy's number, its controllers and the group, between colons.
std::uint64_t memory_of_this_place()
{
    std::uint64_t memory = memory_of_the_machine();
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const auto first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const auto controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
        if (controllers.empty()) memory = lowest_limit("/sys/fs/cgroup", group, "memory.max", memory);
        if (names_memory(controllers))
            memory = lowest_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", memory);
    }
    return memory;
}

}  // namespace cmcp
