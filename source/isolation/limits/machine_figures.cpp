#include "limits/machine_figures.hpp"

#include <sched.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

// Of version 4 (RFC 9562).
std::string random_uuid()
{
    std::array<unsigned char, 16> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
    bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
    bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        constexpr char digits[] = "0123456789abcdef";
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> kernel_settings()
{
    constexpr const char* of_the_machine[] = {"kernel/ostype",
                                              "kernel/osrelease",
                                              "kernel/version",
                                              "kernel/arch",
                                              "kernel/pid_max",
                                              "kernel/threads-max",
                                              "kernel/ngroups_max",
                                              "kernel/cap_last_cap",
                                              "kernel/overflowuid",
                                              "kernel/overflowgid",
                                              "kernel/shmmax",
                                              "kernel/shmall",
                                              "kernel/shmmni",
                                              "kernel/sem",
                                              "kernel/msgmax",
                                              "kernel/msgmnb",
                                              "kernel/msgmni",
                                              "kernel/randomize_va_space",
                                              "kernel/random/poolsize",
                                              "kernel/seccomp/actions_avail",
                                              "fs/file-max",
                                              "fs/nr_open",
                                              "fs/pipe-max-size",
                                              "fs/aio-max-nr",
                                              "fs/inotify/max_queued_events",
                                              "vm/overcommit_memory",
                                              "vm/overcommit_ratio",
                                              "vm/max_map_count",
                                              "vm/mmap_min_addr",
                                              "vm/nr_hugepages",
                                              "vm/swappiness",
                                              "net/core/somaxconn",
                                              "net/core/rmem_default",
                                              "net/core/rmem_max",
                                              "net/core/wmem_default",
                                              "net/core/wmem_max",
                                              "net/ipv4/ip_local_port_range",
                                              "net/ipv4/tcp_fin_timeout",
                                              "net/ipv4/tcp_rmem",
                                              "net/ipv4/tcp_wmem"};
    std::vector<std::pair<std::string, std::string>> all{
        {"kernel/hostname", "sandbox\n"},
        {"kernel/domainname", "(none)\n"},
        {"kernel/random/boot_id", random_uuid() + "\n"},
        {"kernel/random/uuid", ""},
        {"kernel/random/entropy_avail", "256\n"},
        {"fs/inotify/max_user_instances", std::string(most_watchers) + "\n"},
        {"fs/inotify/max_user_watches", std::string(most_watches) + "\n"},
        {"net/ipv4/ip_unprivileged_port_start", "0\n"}};
    for (const std::string path : of_the_machine) {
        std::ostringstream content;
        content << std::ifstream("/proc/sys/" + path).rdbuf();
        if (!content.str().empty()) all.emplace_back(path, content.str());
    }
    return all;
}

std::vector<std::pair<std::string, std::string>> machine_figures(std::uint64_t memory)
{
    const auto usable = usable_processors();
    return {{"meminfo", memory_text(memory)},
            {"cpuinfo", processors_text(usable)},
            {"stat", statistics_text(usable)},
            {"loadavg", "0.00 0.00 0.00 1/1 1\n"}};
}

}  // namespace cmcp::sandbox
