#include "jail/watchdog.hpp"

#include "jail/nameless_files.hpp"
#include "jail/process_files.hpp"
#include "jail/socket_memory.hpp"
#include "posix/child_process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {
namespace {

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

// No figure of resident pages holds them, and a byte every two megabytes costs a table of four kilobytes.
std::uint64_t page_tables(int directory, const std::string& process)
{
    return field(read_text(directory, process + "/status"), "\nVmPTE:");
}

// Pages shared with others count in proportion; pages of program files are not the run's own. The kernel walks all page
// tables for that, so a process with very many is judged by its resident pages.
own_memory own_bytes(int directory, const std::string& process)
{
    constexpr std::uint64_t most_tables = 8 << 20;
    const bool quick = page_tables(directory, process) <= most_tables;
    const std::string exact = quick ? read_text(directory, process + "/smaps_rollup") : std::string();
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

std::uint64_t usage_meter::shared() const
{
    return sources_.processes ? shared_without_file(sources_.processes.get()) : 0;
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
    std::uint64_t beside = files_in_memory() + in_sockets();
    for (const auto& name : names) beside += page_tables(sources_.processes.get(), name);
    now.memory = beside;
    if (beside > limit) return now;
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
    now.memory = beside + total.anonymous + total.shared;
    return now;
}

std::chrono::milliseconds next_look(std::uint64_t used, std::uint64_t limit)
{
    constexpr std::uint64_t bytes_each_ms = 4ull << 20;
    const std::uint64_t left = limit > used ? limit - used : 0;
    return std::chrono::milliseconds(std::clamp<std::uint64_t>(left / bytes_each_ms, 5, 50));
}

}  // namespace cmcp::sandbox
