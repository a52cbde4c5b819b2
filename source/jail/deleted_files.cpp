#include "jail/deleted_files.hpp"

#include "jail/process_folder.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>

namespace cmcp::sandbox {
namespace {

using found_files = std::map<ino_t, std::uint64_t>;
constexpr std::size_t longest_map = 8 << 20;

void add_open(int processes, const std::string& process, dev_t device, found_files& to)
{
    const unique_fd folder(::openat(processes, (process + "/fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return;
    for (const auto& name : numbered_entries(folder.get(), '0')) {
        struct stat status {};
        if (::fstatat(folder.get(), name.c_str(), &status, 0) != 0 || status.st_nlink != 0) continue;
        if (status.st_dev == device) to[status.st_ino] = static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
}

// "start-end perms offset major:minor inode path (deleted)", proc_pid_maps(5).
void add_mapped(int processes, const std::string& process, dev_t device, found_files& to)
{
    std::istringstream lines(read_text(processes, process + "/maps", longest_map));
    for (std::string line; std::getline(lines, line);) {
        if (!line.ends_with(" (deleted)")) continue;
        unsigned long start = 0, end = 0, inode = 0;
        unsigned major_number = 0, minor_number = 0;
        const int fields =
            std::sscanf(line.c_str(), "%lx-%lx %*s %*x %x:%x %lu", &start, &end, &major_number, &minor_number, &inode);
        if (fields != 5 || makedev(major_number, minor_number) != device) continue;
        to[inode] = std::max<std::uint64_t>(to[inode], end - start);
    }
}

}  // namespace

std::uint64_t deleted_files(int processes, dev_t device)
{
    found_files found;
    for (const auto& name : numbered_entries(processes, '1')) {
        add_mapped(processes, name, device, found);
        add_open(processes, name, device, found);
    }
    std::uint64_t sum = 0;
    for (const auto& [inode, bytes] : found) sum += bytes;
    return sum;
}

}  // namespace cmcp::sandbox
