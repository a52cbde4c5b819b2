#include "jail/cgroup_files.hpp"

#include "posix/child_process.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
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

bool holds(const fs::path& folder, pid_t process)
{
    const auto all = processes_in(folder);
    return std::find(all.begin(), all.end(), process) != all.end();
}

// A number that is still in the group after its pidfd was opened belongs to that process.
void end_members(const fs::path& folder)
{
    constexpr int patience_ms = 2000;
    for (const pid_t process : processes_in(folder)) {
        const unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
        if (!pidfd || !holds(folder, process)) continue;
        kill_process(pidfd.get());
        pollfd end{pidfd.get(), POLLIN, 0};
        ::poll(&end, 1, patience_ms);
    }
}

}  // namespace

std::string read_control(const fs::path& file)
{
    std::ifstream open(file);
    std::ostringstream text;
    text << open.rdbuf();
    return text.str();
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
