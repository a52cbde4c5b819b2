#include "browser_host/memory_watch.hpp"

#include "jail/process_folder.hpp"
#include "posix/child_process.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::browser_host {
namespace {

using namespace sandbox;

unique_fd copy_of(const unique_fd& fd) { return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }

std::uint64_t anonymous_kib(int processes, const std::string& name)
{
    const std::string text = read_text(processes, name + "/status", 4096);
    const auto at = text.find("\nRssAnon:");
    return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + 9, nullptr, 10);
}

std::vector<std::pair<std::uint64_t, std::string>> sizes(int processes)
{
    std::vector<std::pair<std::uint64_t, std::string>> all;
    for (auto& name : numbered_entries(processes, '1')) all.emplace_back(anonymous_kib(processes, name), name);
    return all;
}

}  // namespace

memory_watch::memory_watch(unique_fd processes, unique_fd temporary, unique_fd shared, std::uint64_t limit)
    : processes_(copy_of(processes)),
      meter_(std::move(processes), std::move(temporary), std::move(shared), unique_fd()),
      limit_(limit)
{
}

int memory_watch::milliseconds_to_next_look() const
{
    if (!processes_) return -1;
    return used_ > limit_ / 2 ? 50 : 250;
}

bool memory_watch::look()
{
    used_ = meter_.measure(limit_).memory;
    if (used_ <= limit_) return false;
    // Somewhat below the limit, or many small processes would be ended one a look while others are started.
    end_largest(used_ - limit_ + limit_ / 8);
    return true;
}

void memory_watch::end_largest(std::uint64_t bytes) const
{
    auto all = sizes(processes_.get());
    std::sort(all.rbegin(), all.rend());
    std::uint64_t freed = 0;
    for (const auto& [kib, name] : all) {
        if (freed >= bytes) return;
        // A folder of /proc serves as a pidfd: its number means nothing in this PID namespace.
        const unique_fd process(::openat(processes_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (process) kill_process(process.get());
        freed += kib << 10;
    }
}

}  // namespace cmcp::browser_host
