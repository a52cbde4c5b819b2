#include "launcher/cgroup_tree.hpp"

#include "facilities/setup_step.hpp"
#include "limits/cgroup_files.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "container-mcp-";

std::uint64_t of_the_machine(const cgroup_folders::control_file& file)
{
    if (file.controller == "memory") return number_in("/proc/meminfo", "MemTotal:") * 1024;
    return std::min(number_in("/proc/sys/kernel/pid_max"), number_in("/proc/sys/kernel/threads-max"));
}

// Three quarters of what the group that holds the launcher may have, or else the machine, so that one caller leaves
// room for others and for the server. v1 shows no limit as a number that no machine has.
std::optional<std::uint64_t> most_of_a_caller(const cgroup_path& callers, const cgroup_folders::control_file& file)
{
    std::uint64_t whole = of_the_machine(file);
    const std::uint64_t limit = number_in(callers.folder.parent_path() / file.name_in(callers));
    if (limit != 0 && (whole == 0 || limit < whole)) whole = limit;
    if (whole == 0) return std::nullopt;
    return whole - whole / 4;
}

// A number of a process means nothing in another PID namespace, which may share the hierarchy: so a launcher's group is
// named by both.
std::string name_of_launcher(pid_t launcher)
{
    struct stat status {};
    check(::stat("/proc/self/ns/pid", &status), "name the cgroup");
    return std::string(prefix) + std::to_string(launcher) + "-" + std::to_string(status.st_ino);
}

// Folders of launchers of this PID namespace that were killed.
void remove_abandoned(const fs::path& folder)
{
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with(prefix)) continue;
        const auto owner = static_cast<pid_t>(std::strtol(name.c_str() + prefix.size(), nullptr, 10));
        const bool ended = owner == ::getpid() || (::kill(owner, 0) != 0 && errno == ESRCH);
        if (owner > 0 && ended && name == name_of_launcher(owner)) remove_group(entry.path());
    }
}

}  // namespace

cgroup_tree::cgroup_tree(bool wanted)
{
    if (!wanted) return;
    const cgroup_paths paths = find_cgroup_paths();
    lacking_ = paths.lacking;
    for (const cgroup_path& each : paths.all) add(each);
}

// A hierarchy that cannot be used leaves the others as they are.
void cgroup_tree::add(const cgroup_path& path)
try {
    remove_abandoned(path.folder);
    divide(path);
    cgroup_folders own({path}, name_of_launcher(::getpid()));
    divide(own.all().front());
    own_.add(std::move(own));
} catch (const step_failed& failure) {
    for (const std::string& each : path.controllers)
        lacking_[each] =
            std::string(failure.what()) + " failed (" + std::strerror(failure.error) + ") in " + path.folder.string();
}

std::string cgroup_tree::lacking(std::string_view controller) const
{
    if (holds(controller)) return {};
    const auto known = lacking_.find(controller);
    return known == lacking_.end() ? "cgroups are not asked for" : known->second;
}

std::shared_ptr<const cgroup_folders> cgroup_tree::of_caller(const std::string& caller)
{
    std::erase_if(callers_, [](const auto& entry) { return entry.second.folders.expired(); });
    if (const auto known = callers_.find(caller); known != callers_.end()) return known->second.folders.lock();
    const unsigned number = free_number();
    auto folders = std::make_shared<cgroup_folders>(own_.all(), "caller-" + std::to_string(number));
    for (const cgroup_path& each : folders->all()) {
        divide(each);
        if (each.controls("cpu")) folders->must_set(processor_share, each.unified ? share_unified : share_first);
    }
    for (const auto& limit : {memory_limit, process_limit})
        if (const cgroup_path* const own = own_.of(limit.controller))
            if (const auto most = most_of_a_caller(*own, limit)) folders->must_set(limit, *most);
    callers_[caller] = {number, folders};
    return folders;
}

unsigned cgroup_tree::free_number() const
{
    unsigned number = 0;
    const auto has_it = [&](const auto& entry) { return entry.second.number == number; };
    while (std::ranges::any_of(callers_, has_it)) ++number;
    return number;
}

run_cgroup cgroup_tree::make(unsigned number, const std::string& caller, const run_limits& limits,
                             std::uint64_t helpers, bool survives)
{
    return {of_caller(caller), std::to_string(number), limits, helpers, survives};
}

}  // namespace cmcp::sandbox
