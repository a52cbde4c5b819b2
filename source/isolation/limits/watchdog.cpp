#include "limits/watchdog.hpp"

#include "facilities/nameless_files.hpp"
#include "facilities/process_files.hpp"
#include "limits/socket_memory.hpp"
#include "posix/child_process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace cmcp::sandbox {
namespace {

std::vector<std::string> process_names(int directory)
{
    auto names = numbered_entries(directory, '1');
    std::erase(names, "1");  // the reaper
    return names;
}

std::uint64_t written_bytes(int directory, const std::string& process)
{
    const std::string text = read_text(directory, process + "/io");
    const std::uint64_t written = number_in_line(text, "\nwrite_bytes:");
    return written - std::min(written, number_in_line(text, "\ncancelled_write_bytes:"));
}

// The fields of proc_pid_stat(5) from one on. The name, field 2, may hold anything but ends with the last bracket.
std::istringstream fields_from(int first, int directory, const std::string& process)
{
    const std::string text = read_text(directory, process + "/stat");
    const auto name_end = text.rfind(')');
    std::istringstream fields(name_end == std::string::npos ? std::string() : text.substr(name_end + 1));
    std::string skipped;
    for (int field = 3; field != first; ++field) fields >> skipped;
    return fields;
}

// Fields 14 to 17: in user and kernel mode, its own and of the children it has collected.
std::uint64_t ticks(int directory, const std::string& process)
{
    std::istringstream fields = fields_from(14, directory, process);
    std::uint64_t user = 0, kernel = 0, of_children = 0, kernel_of_children = 0;
    fields >> user >> kernel >> of_children >> kernel_of_children;
    return user + kernel + of_children + kernel_of_children;
}

// Of one process; memory in bytes.
struct process_figures {
    std::string process;   // its living part
    std::uint64_t tables;  // no figure of resident pages holds them: a page every two megabytes costs one more
    std::uint64_t resident;
    std::uint64_t own;  // resident pages that are of no file
    std::uint64_t threads;
};

process_figures figures_of_part(int directory, const std::string& part)
{
    const std::string text = read_text(directory, part + "/status");
    return {part, bytes_in_line(text, "\nVmPTE:"), bytes_in_line(text, "\nVmRSS:"),
            bytes_in_line(text, "\nRssAnon:") + bytes_in_line(text, "\nRssShmem:"),
            std::max<std::uint64_t>(1, number_in_line(text, "\nThreads:"))};
}

process_figures figures_of(int directory, const std::string& process)
{
    process_figures first = figures_of_part(directory, process);
    return first.resident != 0 ? first : figures_of_part(directory, living_part(directory, process));
}

// Reads "number argument argument…" of proc_pid_syscall(5), "running" of a thread that waits for nothing.
bool waits_for_borrower(const std::string& call)
{
    char* end = nullptr;
    const long number = std::strtol(call.c_str(), &end, 10);
    constexpr unsigned long lends = CLONE_VM | CLONE_VFORK;
    if (end == call.c_str()) return false;
#ifdef SYS_vfork
    if (number == SYS_vfork) return true;
#endif
    return number == SYS_clone && (std::strtoul(end, nullptr, 16) & lends) == lends;
}

// A child of vfork(2) has the memory of its parent, which waits until it executes a program: then the child's figures
// are both's.
bool is_lent(int directory, const std::string& process)
{
    const std::string name = process.substr(0, process.find('/'));
    return std::ranges::any_of(threads_of(directory, name), [&](const std::string& thread) {
        return waits_for_borrower(read_text(directory, name + "/task/" + thread + "/syscall"));
    });
}

// Field 9 has the kernel's PF_FORKNOEXEC.
bool has_executed(int directory, const std::string& process)
{
    constexpr std::uint64_t forked_without_exec = 0x40;
    std::uint64_t flags = 0;
    fields_from(9, directory, process) >> flags;
    return (flags & forked_without_exec) == 0;
}

// Pages shared with others count in proportion; pages of program files are not the run's own. The kernel walks all page
// tables for that, so a process with very many is judged by its resident pages.
std::uint64_t own_bytes(int directory, const process_figures& of)
{
    constexpr std::uint64_t most_tables = 8 << 20;
    if (is_lent(directory, of.process)) return 0;
    if (of.tables > most_tables) return of.own;
    const std::string exact = read_text(directory, of.process + "/smaps_rollup");
    if (exact.empty()) return figures_of(directory, of.process).own;  // 0 once it has ended
    return bytes_in_line(exact, "\nPss_Anon:") + bytes_in_line(exact, "\nSwapPss:") +
           bytes_in_line(exact, "\nPss_Shmem:");
}

// Of all but the first process and `helper`.
std::vector<process_figures> figures_of_all(int directory, const std::string& helper)
{
    auto names = process_names(directory);
    std::erase(names, helper);
    std::vector<process_figures> all;
    for (const auto& name : names) all.push_back(figures_of(directory, name));
    return all;
}

std::uint64_t own_bytes(int directory, const std::vector<process_figures>& all)
{
    std::uint64_t sum = 0;
    for (const process_figures& each : all) sum += own_bytes(directory, each);
    return sum;
}

// The parent of a new child lends its memory before it waits, and where processors are scarce may wait late: until then
// both count it. A sum above the limit is true where it stays, or grows by more than what the child needs to go on.
std::uint64_t lasting_bytes(int directory, const std::string& helper, std::uint64_t sum, std::uint64_t limit)
{
    constexpr std::chrono::milliseconds patience{250}, pause{1};
    const auto until = std::chrono::steady_clock::now() + patience;
    const std::uint64_t grown = sum + limit / 32;
    while (sum > limit && sum <= grown && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(pause);
        const auto all = figures_of_all(directory, helper);
        sum = own_bytes(directory, all);
        const bool settled = std::ranges::all_of(
            all, [&](const process_figures& each) { return has_executed(directory, each.process); });
        if (settled) return sum;
    }
    return sum;
}

// Bytes and number of each process.
std::vector<std::pair<std::uint64_t, std::string>> largest_first(int directory)
{
    std::vector<std::pair<std::uint64_t, std::string>> all;
    for (auto& name : process_names(directory))
        all.emplace_back(bytes_in_line(read_text(directory, name + "/status"), "\nRssAnon:"), name);
    std::ranges::sort(all, std::greater());
    return all;
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
    unique_fd* const targets[] = {&sources.processes, &sources.temporary, &sources.shared, &sources.sockets};
    for (std::size_t i = 0; i < std::min(descriptors.size(), std::size(targets)); ++i)
        *targets[i] = std::move(descriptors[i]);
    return sources;
}

std::uint64_t usage_meter::files_in_memory() const
{
    return bytes_used(sources_.temporary) + bytes_used(sources_.shared);
}

bool usage_meter::has_files() const
{
    const auto is_in_use = [](const unique_fd& memory) {
        struct statfs status {};
        return ::fstatfs(memory.get(), &status) != 0 || status.f_files - status.f_ffree > 1;  // its own folder
    };
    return is_in_use(sources_.temporary) || is_in_use(sources_.shared);
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

std::size_t usage_meter::processes(std::span<const int> without) const
{
    if (!sources_.processes) return 0;
    auto names = process_names(sources_.processes.get());
    for (const int each : without) std::erase(names, std::to_string(each));
    return names.size();
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

// The list comes before the figure, because a process that was ended by the last look may end between the two: it then
// stands in the list, and no smaller one is ended instead. An eighth is freed, or many small processes would be
// ended one a look while others are started.
bool usage_meter::end_largest(std::uint64_t limit)
{
    const auto largest = largest_first(sources_.processes.get());
    const std::uint64_t memory = measure(limit).memory;
    if (memory <= limit) return false;
    const std::uint64_t bytes = memory - limit + limit / 8;
    std::uint64_t freed = 0;
    for (const auto& [size, name] : largest) {
        if (freed >= bytes) break;
        // A folder of /proc serves as a pidfd: its number means nothing in this PID namespace.
        const unique_fd process(::openat(sources_.processes.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (process) kill_process(process.get());
        freed += size;
    }
    return true;
}

// A single process shares nothing. A figure that is hardly above the largest exact one makes the peak hardly wrong.
bool usage_meter::is_near_enough(std::uint64_t memory, std::size_t processes, std::uint64_t limit) const
{
    return memory <= limit && (processes < 2 || memory <= most_ + most_ / 20);
}

usage usage_meter::measure(std::uint64_t limit)
{
    usage now;
    if (!sources_.processes) return now;
    const auto all = figures_of_all(sources_.processes.get(), helper_);
    std::uint64_t beside = files_in_memory() + in_sockets();
    std::uint64_t resident = 0;
    for (const process_figures& each : all) {
        beside += each.tables;
        resident += each.resident;
        now.processes += each.threads;
    }
    now.memory = beside + resident;
    if (beside > limit || is_near_enough(now.memory, all.size(), limit)) return now;
    now.memory = beside + own_bytes(sources_.processes.get(), all);
    // Shares grow while processes end between two reads; a second sum does not have the same ones.
    if (now.memory > most_) now.memory = std::min(now.memory, beside + own_bytes(sources_.processes.get(), all));
    if (now.memory > limit)
        now.memory = lasting_bytes(sources_.processes.get(), helper_, now.memory - beside, limit - beside) + beside;
    most_ = std::max(most_, now.memory);
    return now;
}

std::chrono::milliseconds next_look(std::uint64_t used, std::uint64_t limit)
{
    constexpr std::uint64_t bytes_each_ms = 4ull << 20;
    const std::uint64_t left = limit > used ? limit - used : 0;
    return std::chrono::milliseconds(std::clamp<std::uint64_t>(left / bytes_each_ms, 5, 50));
}

}  // namespace cmcp::sandbox
