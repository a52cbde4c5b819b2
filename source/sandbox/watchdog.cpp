#include "sandbox/watchdog.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {
namespace {

std::string read_text(int directory, const std::string& path)
{
    const unique_fd file(::openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return {};   // the process has ended meanwhile
    std::string text(2048, '\0');
    const ssize_t length = ::read(file.get(), text.data(), text.size());
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
}

std::vector<std::string> process_names(int directory)
{
    std::vector<std::string> names;
    const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
    if (!entries) return names;
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string_view name = entry->d_name;
        if (name[0] >= '1' && name[0] <= '9' && name != "1") names.emplace_back(name);
    }
    return names;
}

std::uint64_t resident_bytes(int directory, const std::string& process)
{
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::string text = read_text(directory, process + "/statm");
    const auto space = text.find(' ');
    return space == std::string::npos ? 0 : std::strtoull(text.c_str() + space, nullptr, 10) * page;
}

std::uint64_t threads(int directory, const std::string& process)
{
    struct stat status{};
    const bool there = ::fstatat(directory, (process + "/task").c_str(), &status, 0) == 0;
    return there && status.st_nlink > 2 ? status.st_nlink - 2 : 1;
}

std::uint64_t field(std::string_view text, std::string_view name)
{
    const auto at = text.find(name);
    return at == std::string_view::npos ? 0 : std::strtoull(text.data() + at + name.size(), nullptr, 10) * 1024;
}

// Pages shared with others count in proportion; pages of program files are not the run's own.
std::uint64_t own_bytes(int directory, const std::string& process)
{
    const std::string exact = read_text(directory, process + "/smaps_rollup");
    if (!exact.empty()) return field(exact, "\nPss_Anon:") + field(exact, "\nPss_Shmem:") + field(exact, "\nSwapPss:");
    const std::string rough = read_text(directory, process + "/status");
    return field(rough, "\nRssAnon:") + field(rough, "\nRssShmem:");
}

std::uint64_t bytes_used(const unique_fd& file_system)
{
    struct statfs status{};
    if (!file_system || ::fstatfs(file_system.get(), &status) != 0) return 0;
    return static_cast<std::uint64_t>(status.f_blocks - status.f_bfree) * static_cast<std::uint64_t>(status.f_bsize);
}

}  // namespace

usage_meter::usage_meter(unique_fd processes, unique_fd temporary, unique_fd shared)
    : processes_(std::move(processes)), temporary_(std::move(temporary)), shared_(std::move(shared))
{
}

std::uint64_t usage_meter::files_in_memory() const { return bytes_used(temporary_) + bytes_used(shared_); }

usage usage_meter::measure(std::uint64_t limit) const
{
    usage now;
    if (!processes_) return now;
    const auto names = process_names(processes_.get());
    const std::uint64_t files = files_in_memory();
    now.memory = files;
    for (const auto& name : names) {
        now.memory += resident_bytes(processes_.get(), name);
        now.processes += threads(processes_.get(), name);
    }
    if (now.memory <= limit) return now;
    now.memory = files;
    for (const auto& name : names) now.memory += own_bytes(processes_.get(), name);
    return now;
}

std::chrono::milliseconds next_look(std::uint64_t used, std::uint64_t limit)
{
    constexpr std::uint64_t bytes_each_ms = 4ull << 20;
    const std::uint64_t left = limit > used ? limit - used : 0;
    return std::chrono::milliseconds(std::clamp<std::uint64_t>(left / bytes_each_ms, 5, 50));
}

}  // namespace cmcp::sandbox
