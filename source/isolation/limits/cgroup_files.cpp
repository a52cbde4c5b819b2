#include "limits/cgroup_files.hpp"

#include "posix/bytes.hpp"
#include "posix/child_process.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

// Processes that this PID namespace does not show have the number 0 there.
std::vector<pid_t> processes_in(const fs::path& folder)
{
    std::istringstream numbers(read_control(folder / "cgroup.procs"));
    std::vector<pid_t> all;
    for (pid_t process; numbers >> process;)
        if (process > 0) all.push_back(process);
    return all;
}

// A number that is still in the group after its pidfd was opened belongs to that process.
std::vector<unique_fd> kill_members(const fs::path& folder)
{
    std::vector<unique_fd> all;
    for (const pid_t process : processes_in(folder)) {
        unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
        if (!pidfd || !has_member(folder, process)) continue;
        kill_process(pidfd.get());
        all.push_back(std::move(pidfd));
    }
    return all;
}

void end_members(const fs::path& folder)
{
    using clock = std::chrono::steady_clock;
    const auto deadline = clock::now() + std::chrono::seconds(2);
    for (const unique_fd& process : kill_members(folder)) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now());
        pollfd end{process.get(), POLLIN, 0};
        ::poll(&end, 1, static_cast<int>(std::max(left.count(), std::chrono::milliseconds::rep{0})));
    }
}

}  // namespace

std::string read_control(const fs::path& file)
{
    const unique_fd open(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    return open ? read_all(open.get()) : std::string();
}

bool write_control(const fs::path& file, const std::string& text)
{
    const unique_fd open(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    return open && ::write(open.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::uint64_t number_in(const fs::path& file) { return std::strtoull(read_control(file).c_str(), nullptr, 10); }

std::uint64_t number_in(const fs::path& file, const std::string& name)
{
    std::istringstream words(read_control(file));
    std::string key;
    for (std::uint64_t value = 0; words >> key >> value;)
        if (key == name) return value;
    return 0;
}

bool has_member(const fs::path& folder, pid_t process)
{
    const auto all = processes_in(folder);
    return std::find(all.begin(), all.end(), process) != all.end();
}

void remove_group(const fs::path& folder)
{
    std::error_code error;
    std::vector<fs::path> below;
    for (const auto& entry : fs::directory_iterator(folder, error))
        if (entry.is_directory(error)) below.push_back(entry.path());
    for (const fs::path& each : below) remove_group(each);
    end_members(folder);
    ::rmdir(folder.c_str());
}

}  // namespace cmcp::sandbox
