#include "jail/watchdog.hpp"

#include "jail/socket_memory.hpp"
#include "posix/child_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {
namespace {

// Empty where it cannot be read, as of a process that has ended meanwhile.
std::string read_text(int directory, const std::string& path, std::size_t most = 2048)
{
    const unique_fd file(::openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    if (!file) return text;
    constexpr std::size_t piece = 2048;
    while (text.size() < most) {
        const std::size_t before = text.size();
        text.resize(before + piece);
        const ssize_t length = ::read(file.get(), text.data() + before, piece);
        text.resize(before + (length > 0 ? static_cast<std::size_t>(length) : 0));
        if (length <= 0) break;
    }
    return text;
}

// Those whose names begin with a digit from `first` on.
std::vector<std::string> numbered_entries(int directory, char first)
{
    std::vector<std::string> names;
    const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const auto close = [](DIR* opened) { ::closedir(opened); };
    const std::unique_ptr<DIR, decltype(close)> entries(copy < 0 ? nullptr : ::fdopendir(copy), close);
    if (!entries) return names;
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string_view name = entry->d_name;
        if (name[0] >= first && name[0] <= '9') names.emplace_back(name);
    }
    return names;
}

std::vector<std::string> process_names(int directory)
{
    auto names = numbered_entries(directory, '1');
    std::erase(names, "1");  // the reaper
    return names;
}

std::uint64_t resident_bytes(int directory, const std::string& process)
{
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::string text = read_text(directory, process + "/statm");
    const auto space = text.find(' ');
    return space == std::string::npos ? 0 : std::strtoull(text.c_str() + space, nullptr, 10) * page;
}

std::uint64_t written_bytes(int directory, const std::string& process)
{
    const std::string text = read_text(directory, process + "/io");
    const auto number = [&](const char* name) {
        const auto at = text.find(name);
        return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + std::strlen(name), nullptr, 10);
    };
    const std::uint64_t written = number("\nwrite_bytes: "), cancelled = number("\ncancelled_write_bytes: ");
    return written > cancelled ? written - cancelled : 0;
}

// Fields 14 to 17 of proc_pid_stat(5): in user and kernel mode, its own and of the children it has collected. The name,
// field 2, may hold anything but ends with the last bracket.
std::uint64_t ticks(int directory, const std::string& process)
{
    const std::string text = read_text(directory, process + "/stat");
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos) return 0;
    std::istringstream fields(text.substr(name_end + 1));
    std::string skipped;
    for (int field = 3; field != 14; ++field) fields >> skipped;
    std::uint64_t user = 0, kernel = 0, of_children = 0, kernel_of_children = 0;
    fields >> user >> kernel >> of_children >> kernel_of_children;
    return user + kernel + of_children + kernel_of_children;
}

std::uint64_t threads(int directory, const std::string& process)
{
    struct stat status {};
    const bool there = ::fstatat(directory, (process + "/task").c_str(), &status, 0) == 0;
    return there && status.st_nlink > 2 ? status.st_nlink - 2 : 1;
}

std::uint64_t field(std::string_view text, std::string_view name)
{
    const auto at = text.find(name);
    return at == std::string_view::npos ? 0 : std::strtoull(text.data() + at + name.size(), nullptr, 10) * 1024;
}

struct own_memory {
    std::uint64_t anonymous = 0;
    std::uint64_t shared = 0;
};

// Pages shared with others count in proportion; pages of program files are not the run's own.
own_memory own_bytes(int directory, const std::string& process)
{
    const std::string exact = read_text(directory, process + "/smaps_rollup");
    if (!exact.empty()) return {field(exact, "\nPss_Anon:") + field(exact, "\nSwapPss:"), field(exact, "\nPss_Shmem:")};
    const std::string rough = read_text(directory, process + "/status");
    return {field(rough, "\nRssAnon:"), field(rough, "\nRssShmem:")};
}

std::uint64_t bytes_used(const unique_fd& file_system)
{
    struct statfs status {};
    if (!file_system || ::fstatfs(file_system.get(), &status) != 0) return 0;
    return static_cast<std::uint64_t>(status.f_blocks - status.f_bfree) * static_cast<std::uint64_t>(status.f_bsize);
}

using nameless_files = std::map<ino_t, std::uint64_t>;
constexpr std::size_t longest_map = 8 << 20;

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

// "start-end perms offset major:minor inode path (deleted)", proc_pid_maps(5).
void add_mapped(int processes, const std::string& process, dev_t device, nameless_files& to)
{
    std::istringstream lines(read_text(processes, process + "/maps", longest_map));
    for (std::string line; std::getline(lines, line);) {
        if (!line.ends_with(" (deleted)")) continue;
        unsigned long start = 0, end = 0, inode = 0;
        unsigned major_number = 0, minor_number = 0;
        const int fields =  // NOLINTNEXTLINE(cert-err34-c): the kernel writes these numbers
            std::sscanf(line.c_str(), "%lx-%lx %*s %*x %x:%x %lu", &start, &end, &major_number, &minor_number, &inode);
        if (fields != 5 || makedev(major_number, minor_number) != device) continue;
        to[inode] = std::max<std::uint64_t>(to[inode], end - start);
    }
}

// A mapped file counts with the size of the mapping.
std::uint64_t deleted_files(int processes, dev_t device)
{
    nameless_files files;
    for (const auto& name : numbered_entries(processes, '1')) {
        add_mapped(processes, name, device, files);
        add_open(processes, name, device, files);
    }
    std::uint64_t sum = 0;
    for (const auto& [inode, bytes] : files) sum += bytes;
    return sum;
}

}  // namespace

std::vector<int> usage_sources::descriptors() const
{
    std::vector<int> all;
    if (processes) all = {processes.get(), temporary.get(), shared.get()};
    if (processes && sockets) all.push_back(sockets.get());
    return all;
}

usage_sources usage_sources::from(std::span<unique_fd> descriptors)
{
    usage_sources sources;
    unique_fd* const places[] = {&sources.processes, &sources.temporary, &sources.shared, &sources.sockets};
    for (std::size_t i = 0; i < std::min(descriptors.size(), std::size(places)); ++i)
        *places[i] = std::move(descriptors[i]);
    return sources;
}

std::uint64_t usage_meter::files_in_memory() const
{
    return bytes_used(sources_.temporary) + bytes_used(sources_.shared);
}

// Asking for every socket costs more than the rest.
std::uint64_t usage_meter::in_sockets()
{
    const auto now = std::chrono::steady_clock::now();
    if (!sources_.sockets || now < count_again_) return in_sockets_;
    count_again_ = now + std::chrono::milliseconds(20);
    const std::string known =
        read_text(sources_.processes.get(), "1/net/sockstat") + read_text(sources_.processes.get(), "1/net/sockstat6");
    return in_sockets_ = socket_memory(sources_.sockets.get(), known.empty() || has_internet_sockets(known));
}

std::uint64_t usage_meter::written() const
{
    std::uint64_t all = 0;
    // The reaper's figure holds those of the processes that it has collected.
    if (sources_.processes)
        for (const auto& name : numbered_entries(sources_.processes.get(), '1'))
            all += written_bytes(sources_.processes.get(), name);
    return all;
}

std::chrono::microseconds usage_meter::processor_time() const
{
    std::uint64_t all = 0;
    if (sources_.processes)
        for (const auto& name : numbered_entries(sources_.processes.get(), '1'))
            all += ticks(sources_.processes.get(), name);
    static const auto each_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    return std::chrono::microseconds(all * 1'000'000 / each_second);
}

std::uint64_t usage_meter::deleted(dev_t device) const
{
    return sources_.processes ? deleted_files(sources_.processes.get(), device) : 0;
}

void usage_meter::end_largest(std::uint64_t bytes) const
{
    const int processes = sources_.processes.get();
    std::vector<std::pair<std::uint64_t, std::string>> all;
    for (auto& name : numbered_entries(processes, '1'))
        all.emplace_back(field(read_text(processes, name + "/status", 4096), "\nRssAnon:"), name);
    std::ranges::sort(all, std::greater());
    std::uint64_t freed = 0;
    for (const auto& [size, name] : all) {
        if (freed >= bytes) return;
        // A folder of /proc serves as a pidfd: its number means nothing in this PID namespace.
        const unique_fd process(::openat(processes, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (process) kill_process(process.get());
        freed += size;
    }
}

usage usage_meter::measure(std::uint64_t limit)
{
    usage now;
    if (!sources_.processes) return now;
    auto names = process_names(sources_.processes.get());
    std::erase(names, helper_);
    const std::uint64_t files = files_in_memory() + in_sockets();
    now.memory = files;
    for (const auto& name : names) {
        now.memory += resident_bytes(sources_.processes.get(), name);
        now.processes += threads(sources_.processes.get(), name);
    }
    if (now.memory <= limit) return now;
    own_memory total;
    for (const auto& name : names) {
        const own_memory own = own_bytes(sources_.processes.get(), name);
        total.anonymous += own.anonymous;
        total.shared += own.shared;
    }
    now.memory = files + total.anonymous + total.shared;
    return now;
}

std::chrono::milliseconds next_look(std::uint64_t used, std::uint64_t limit)
{
    constexpr std::uint64_t bytes_each_ms = 4ull << 20;
    const std::uint64_t left = limit > used ? limit - used : 0;
    return std::chrono::milliseconds(std::clamp<std::uint64_t>(left / bytes_each_ms, 5, 50));
}

}  // namespace cmcp::sandbox
