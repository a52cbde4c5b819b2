#include "facilities/nameless_files.hpp"

#include "facilities/process_files.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>
#include <string>

namespace cmcp::sandbox {
namespace {

using nameless_files = std::map<ino_t, std::uint64_t>;

void add_open(int processes, const std::string& process, dev_t device, nameless_files& to)
{
    const unique_fd folder(::openat(processes, (process + "/fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return;
    for (const auto& name : numbered_entries(folder.get(), '0')) {
        struct stat status {};
        if (::fstatat(folder.get(), name.c_str(), &status, 0) != 0 || status.st_nlink != 0) continue;
        if (status.st_dev == device) to[status.st_ino] = static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
}

struct mapped_file {
    ino_t inode = 0;
    dev_t device = 0;
    std::uint64_t bytes = 0;  ///< mapped
    std::uint64_t end = 0;    ///< of the mapping, in the file
};

// "start-end perms offset major:minor inode path (deleted)", proc_pid_maps(5). Nothing: the line is of another kind.
std::optional<mapped_file> mapping_of_deleted(const std::string& line)
{
    if (!line.ends_with(" (deleted)")) return std::nullopt;
    unsigned long start = 0, end = 0, offset = 0, inode = 0;
    unsigned major_number = 0, minor_number = 0;
    const int fields =  // NOLINTNEXTLINE(cert-err34-c): the kernel writes these numbers
        std::sscanf(line.c_str(), "%lx-%lx %*s %lx %x:%x %lu", &start, &end, &offset, &major_number, &minor_number,
                    &inode);
    if (fields != 6) return std::nullopt;
    return mapped_file{inode, makedev(major_number, minor_number), end - start, offset + (end - start)};
}

template <class Each>
void each_mapping_of_deleted(int processes, const std::string& process, Each each)
{
    constexpr std::size_t longest_map = 8 << 20;
    std::istringstream lines(read_text(processes, process + "/maps", longest_map));
    for (std::string line; std::getline(lines, line);)
        if (const auto file = mapping_of_deleted(line)) each(*file, line);
}

void keep_larger(nameless_files& files, ino_t inode, std::uint64_t bytes)
{
    files[inode] = std::max(files[inode], bytes);
}

void add_mapped(int processes, const std::string& process, dev_t device, nameless_files& to)
{
    each_mapping_of_deleted(processes, process, [&](const mapped_file& file, const std::string&) {
        if (file.device == device) keep_larger(to, file.inode, file.bytes);
    });
}

std::uint64_t sum_of(const nameless_files& files)
{
    std::uint64_t sum = 0;
    for (const auto& [inode, bytes] : files) sum += bytes;
    return sum;
}

}  // namespace

std::uint64_t shared_without_file(int processes)
{
    nameless_files mapped;
    for (const auto& name : numbered_entries(processes, '1')) {
        each_mapping_of_deleted(processes, living_part(processes, name),
                                [&](const mapped_file& file, const std::string& line) {
                                    if (line.ends_with(" /dev/zero (deleted)"))
                                        keep_larger(mapped, file.inode, file.end);
                                });
    }
    return sum_of(mapped);
}

std::uint64_t deleted_files(int processes, dev_t device)
{
    nameless_files files;
    for (const auto& name : numbered_entries(processes, '1')) {
        const std::string process = living_part(processes, name);
        add_mapped(processes, process, device, files);
        add_open(processes, process, device, files);
    }
    return sum_of(files);
}

}  // namespace cmcp::sandbox
