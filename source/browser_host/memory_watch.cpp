#include "browser_host/memory_watch.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::browser_host {
namespace {

unique_fd copy_of(const unique_fd& fd) { return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }

std::uint64_t anonymous_kib(int processes, const std::string& name)
{
    const unique_fd file(::openat(processes, (name + "/status").c_str(), O_RDONLY | O_CLOEXEC));
    std::string text(4096, '\0');
    const ssize_t length = file ? ::read(file.get(), text.data(), text.size()) : 0;
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    const auto at = text.find("\nRssAnon:");
    return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + 9, nullptr, 10);
}

std::vector<std::pair<std::uint64_t, std::string>> sizes(int processes)
{
    std::vector<std::pair<std::uint64_t, std::string>> all;
    const int copy = ::openat(processes, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
    while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr)
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])))
            all.emplace_back(anonymous_kib(processes, entry->d_name), entry->d_name);
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
        if (process) ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
        freed += kib << 10;
    }
}

}  // namespace cmcp::browser_host
