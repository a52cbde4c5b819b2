#include "jail/cgroup.hpp"

#include "jail/setup_step.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* prefix = "container-mcp-";
constexpr const char* aside =
    "container-mcp-server";  // where the server and its launcher sit when the folder is divided

std::string read_control(const fs::path& path)
{
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

bool write_control(const fs::path& path, const std::string& text)
{
    const unique_fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool has_word(const std::string& text, const std::string& word)
{
    std::istringstream words(text);
    for (std::string each; words >> each;)
        if (each == word) return true;
    return false;
}

// A launcher that replaces one that was lost starts where the server was moved to: runs belong beside that, not below.
fs::path undivided(const fs::path& folder) { return folder.filename() == aside ? folder.parent_path() : folder; }

// The mount point of cgroup v2 and our place in it: the line "0::/place" of /proc/self/cgroup.
fs::path own_folder()
{
    std::string place;
    std::ifstream memberships("/proc/self/cgroup");
    for (std::string line; std::getline(memberships, line);)
        if (line.starts_with("0::")) place = line.substr(3);
    if (place.empty()) return {};
    std::ifstream mounts("/proc/self/mounts");
    for (std::string device, where, kind, rest; mounts >> device >> where >> kind && std::getline(mounts, rest);)
        if (kind == "cgroup2") return undivided(fs::path(where + place));
    return {};
}

// The field after the name, which is in parentheses and may hold anything. -1 when the process has ended.
long parent_of(long process)
{
    const std::string status = read_control("/proc/" + std::to_string(process) + "/stat");
    const auto name_end = status.rfind(')');
    return name_end == std::string::npos
               ? -1
               : std::strtol(status.c_str() + std::min(status.size(), name_end + 4), nullptr, 10);
}

// The server, this launcher, and what else the server started meanwhile: the helper that starts programs for it.
bool is_one_of_us(long process)
{
    const long parent = parent_of(process);
    return process == ::getppid() || process == ::getpid() || parent == ::getppid() || parent == -1;
}

// v2 wants processes in leaves only: ours move to one; anyone else's stay, and it fails.
bool move_ourselves_aside(const fs::path& folder)
{
    std::vector<std::string> processes;
    std::istringstream members(read_control(folder / "cgroup.procs"));
    for (std::string process; members >> process; processes.push_back(process))
        if (!is_one_of_us(std::strtol(process.c_str(), nullptr, 10))) return false;
    const fs::path leaf = folder / aside;
    if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return false;
    for (const std::string& process : processes)
        if (!write_control(leaf / "cgroup.procs", process) && errno != ESRCH) return false;
    return true;
}

// The server goes on starting while its launcher does: what comes between the move and the division is moved, too.
bool hand_down_controllers(const fs::path& folder)
{
    for (int tries = 0; tries < 16; ++tries) {
        if (write_control(folder / "cgroup.subtree_control", "+memory +pids")) return true;
        if (errno != EBUSY || !move_ourselves_aside(folder)) return false;
    }
    return false;
}

bool is_populated(const unique_fd& events)
{
    char text[256] = {};
    return events && ::pread(events.get(), text, sizeof text - 1, 0) > 0 && std::strstr(text, "populated 1") != nullptr;
}

// The processes in it were killed with their launcher, but may not have ended yet: the file tells by POLLPRI when they
// have (cgroups(7)).
void remove_run_folder(const fs::path& folder)
{
    constexpr int patience_ms = 2000;
    write_control(folder / "cgroup.kill", "1");
    const unique_fd events(::open((folder / "cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
    pollfd change{events.get(), POLLPRI, 0};
    while (is_populated(events) && ::poll(&change, 1, patience_ms) > 0) {
    }
    ::rmdir(folder.c_str());
}

// Folders that a killed launcher left behind.
void remove_stale(const fs::path& folder)
{
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with(prefix)) continue;
        const long owner = std::strtol(name.c_str() + std::string(prefix).size(), nullptr, 10);
        const bool ended = owner == ::getpid() || (::kill(static_cast<pid_t>(owner), 0) != 0 && errno == ESRCH);
        if (owner <= 0 || !ended) continue;
        for (const auto& run : fs::directory_iterator(entry.path(), error))
            if (run.is_directory(error)) remove_run_folder(run.path());
        ::rmdir(entry.path().c_str());
    }
}

std::string find_obstacle(const fs::path& folder)
{
    if (folder.empty()) return "cgroup v2 is not mounted here";
    const std::string controllers = read_control(folder / "cgroup.controllers");
    for (const char* needed : {"memory", "pids"})
        if (!has_word(controllers, needed)) return "cgroup v2 has no " + std::string(needed) + " controller here";
    if (::access(folder.c_str(), W_OK) == 0) return {};
    if (errno == EROFS)
        return "cgroup v2 is mounted read-only here, as container engines do: only the container's own limits count";
    return "the cgroup v2 folder is not writable (delegate it, for example with systemd's Delegate=yes)";
}

}  // namespace

cgroup_parent::cgroup_parent(bool wanted)
{
    if (!wanted) {
        reason_ = "not asked for";
        return;
    }
    const fs::path folder = own_folder();
    reason_ = find_obstacle(folder);
    if (!reason_.empty()) return;
    remove_stale(folder);
    const fs::path own = folder / (prefix + std::to_string(::getpid()));
    if (!hand_down_controllers(folder) || ::mkdir(own.c_str(), 0755) != 0) {
        reason_ = "the cgroup v2 folder holds other processes and cannot be divided";
        return;
    }
    path_ = own;
    if (hand_down_controllers(own)) return;
    ::rmdir(path_.c_str());
    path_.clear();
    reason_ = "the cgroup v2 controllers cannot be handed down";
}

cgroup_parent::~cgroup_parent()
{
    if (active()) ::rmdir(path_.c_str());
}

run_cgroup cgroup_parent::make(std::uint64_t id, const run_limits& limits) const
{
    return active() ? run_cgroup(path_ + "/" + std::to_string(id), limits) : run_cgroup();
}

run_cgroup::run_cgroup(std::string path, const run_limits& limits) : path_(std::move(path))
{
    check(::mkdir(path_.c_str(), 0755), "make the cgroup");
    folder_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const fs::path folder = path_;
    const bool limited = folder_ && write_control(folder / "memory.max", std::to_string(limits.memory)) &&
                         write_control(folder / "memory.oom.group", "1") &&
                         write_control(folder / "pids.max", std::to_string(limits.processes + 1));
    const int error = errno;
    write_control(folder / "memory.swap.max", "0");  // absent without swap accounting
    if (limited) return;
    ::rmdir(path_.c_str());
    throw step_failed("limit the cgroup", error);
}

run_cgroup::run_cgroup(run_cgroup&& other) noexcept
    : path_(std::exchange(other.path_, {})), folder_(std::move(other.folder_))
{
}

run_cgroup& run_cgroup::operator=(run_cgroup&& other) noexcept
{
    std::swap(path_, other.path_);
    std::swap(folder_, other.folder_);
    return *this;
}

run_cgroup::~run_cgroup()
{
    if (folder_) ::rmdir(path_.c_str());
}

void run_cgroup::kill_all() const
{
    if (folder_) write_control(fs::path(path_) / "cgroup.kill", "1");
}

std::uint64_t run_cgroup::event(const char* file, const char* name) const
{
    std::istringstream words(read_control(fs::path(path_) / file));
    std::string key;
    for (std::uint64_t value; words >> key >> value;)
        if (key == name) return value;
    return 0;
}

bool run_cgroup::out_of_memory() const { return folder_ && event("memory.events", "oom_kill") > 0; }

bool run_cgroup::out_of_processes() const { return folder_ && event("pids.events", "max") > 0; }

std::uint64_t run_cgroup::peak_memory() const
{
    return folder_ ? std::strtoull(read_control(fs::path(path_) / "memory.peak").c_str(), nullptr, 10) : 0;
}

}  // namespace cmcp::sandbox
