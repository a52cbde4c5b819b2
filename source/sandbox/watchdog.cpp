#include "sandbox/watchdog.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
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

// The entries of a folder whose names begin with a digit from `first` on.
std::vector<std::string> names_in(int directory, char first)
{
    std::vector<std::string> names;
    const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
    if (!entries) return names;
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string_view name = entry->d_name;
        if (name[0] >= first && name[0] <= '9') names.emplace_back(name);
    }
    return names;
}

std::vector<std::string> process_names(int directory)
{
    auto names = names_in(directory, '1');
    std::erase(names, "1");   // the reaper
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

struct own_memory {
    std::uint64_t anonymous = 0;
    std::uint64_t shared = 0;
};

// Pages shared with others count in proportion; pages of program files are not the run's own.
own_memory own_bytes(int directory, const std::string& process)
{
    const std::string exact = read_text(directory, process + "/smaps_rollup");
    if (!exact.empty())
        return {field(exact, "\nPss_Anon:") + field(exact, "\nSwapPss:"), field(exact, "\nPss_Shmem:")};
    const std::string rough = read_text(directory, process + "/status");
    return {field(rough, "\nRssAnon:"), field(rough, "\nRssShmem:")};
}

// The kernel's own file system where memfd_create puts its files.
dev_t device_of_anonymous_files()
{
    const unique_fd any(::memfd_create("device", MFD_CLOEXEC));
    struct stat status{};
    return any && ::fstat(any.get(), &status) == 0 ? status.st_dev : 0;
}

void add_anonymous_files(int directory, const std::string& process, std::map<ino_t, std::uint64_t>& found)
{
    static const dev_t device = device_of_anonymous_files();
    const unique_fd folder(::openat(directory, (process + "/fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return;
    for (const auto& name : names_in(folder.get(), '0')) {
        struct stat status{};
        if (::fstatat(folder.get(), name.c_str(), &status, 0) == 0 && status.st_dev == device)
            found[status.st_ino] = static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
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

// What is written to a memfd need not be mapped by anyone. Looking through all descriptors costs more than the rest.
std::uint64_t usage_meter::anonymous_files(const std::vector<std::string>& processes)
{
    const auto now = std::chrono::steady_clock::now();
    if (now < count_again_) return anonymous_files_;
    count_again_ = now + std::chrono::milliseconds(50);
    std::map<ino_t, std::uint64_t> found;
    for (const auto& name : processes) add_anonymous_files(processes_.get(), name, found);
    anonymous_files_ = 0;
    for (const auto& [inode, bytes] : found) anonymous_files_ += bytes;
    return anonymous_files_;
}

std::uint64_t usage_meter::written() const
{
    std::uint64_t all = 0;
    // The reaper's figure holds those of the processes that it has collected.
    if (processes_)
        for (const auto& name : names_in(processes_.get(), '1')) all += written_bytes(processes_.get(), name);
    return all;
}

usage usage_meter::measure(std::uint64_t limit)
{
    usage now;
    if (!processes_) return now;
    const auto names = process_names(processes_.get());
    const std::uint64_t files = files_in_memory();
    const std::uint64_t unmapped = anonymous_files(names);
    now.memory = files + unmapped;
    for (const auto& name : names) {
        now.memory += resident_bytes(processes_.get(), name);
        now.processes += threads(processes_.get(), name);
    }
    if (now.memory <= limit) return now;
    own_memory total;
    for (const auto& name : names) {
        const own_memory own = own_bytes(processes_.get(), name);
        total.anonymous += own.anonymous;
        total.shared += own.shared;
    }
    now.memory = files + total.anonymous + std::max(total.shared, unmapped);   // a memfd that is mapped is in both
    return now;
}

std::chrono::milliseconds next_look(std::uint64_t used, std::uint64_t limit)
{
    constexpr std::uint64_t bytes_each_ms = 4ull << 20;
    const std::uint64_t left = limit > used ? limit - used : 0;
    return std::chrono::milliseconds(std::clamp<std::uint64_t>(left / bytes_each_ms, 5, 50));
}

}  // namespace cmcp::sandbox
