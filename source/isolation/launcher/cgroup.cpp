#include "launcher/cgroup.hpp"

#include "facilities/fault.hpp"
#include "facilities/setup_step.hpp"
#include "limits/cgroup_files.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace cmcp::sandbox {
namespace {

using control_file = cgroup_folders::control_file;

constexpr control_file memory_now{"memory", "memory.current", "memory.usage_in_bytes"};
constexpr control_file memory_figures{"memory", "memory.stat", "memory.stat"};
constexpr control_file memory_peak{"memory", "memory.peak", "memory.max_usage_in_bytes"};
// v2 counts sockets as memory; v1 counts them here, once there is a limit.
constexpr control_file socket_limit{"memory", nullptr, "memory.kmem.tcp.limit_in_bytes"};
constexpr control_file socket_now{"memory", nullptr, "memory.kmem.tcp.usage_in_bytes"};
constexpr control_file processes_now{"pids", "pids.current", "pids.current"};
constexpr control_file process_events{"pids", "pids.events", "pids.events"};
constexpr control_file memory_events{"memory", "memory.events", "memory.oom_control"};
constexpr control_file memory_end{"memory", "memory.oom.group", nullptr};
// 0 in v2; in v1 the limit of memory and swap together.
constexpr control_file swap_limit{"memory", "memory.swap.max", "memory.memsw.limit_in_bytes"};

// The files for swap are absent where the kernel does not count it.
void forbid_swap(const cgroup_folders& groups, std::uint64_t memory)
{
    const cgroup_path* const group = groups.of(swap_limit.controller);
    if (group != nullptr && !groups.set(swap_limit, group->unified ? 0 : memory) && errno != ENOENT)
        throw step_failed("limit the cgroup: swap");
}

void put_into(const cgroup_folders& groups, pid_t process)
{
    for (const cgroup_path& each : groups.all())
        if (!each.unified && !write_control(each.folder / "cgroup.procs", std::to_string(process)))
            throw step_failed("enter the cgroup");
}

}  // namespace

run_cgroup::run_cgroup(std::shared_ptr<const cgroup_folders> caller, const std::string& name, const run_limits& limits,
                       std::uint64_t helpers, bool survives)
    : caller_(std::move(caller)), folders_(caller_->all(), name), most_processes_(limits.processes + helpers)
{
    const std::uint64_t memory = survives ? limits.memory + limits.memory / 4 : limits.memory;
    folders_.must_set(memory_limit, memory);
    folders_.must_set(socket_limit, memory);
    folders_.must_set(process_limit, most_processes_);
    forbid_swap(folders_, memory);
    folders_.must_set(memory_end, survives ? 0 : 1);
    for (const cgroup_path& each : folders_.all())
        if (each.unified)
            folder_.reset(check(::open(each.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open the cgroup"));
}

int run_cgroup::folder() const { return left_out("cgroup") ? -1 : folder_.get(); }

void run_cgroup::take(pid_t process) const
{
    if (!left_out("cgroup")) put_into(folders_, process);
}

void run_cgroup::take_beside(pid_t process) const
{
    if (caller_) put_into(*caller_, process);
}

bool run_cgroup::is_in_force(const cgroup_path& group, std::string_view controller, const run_limits& limits) const
{
    if (controller == "cpu") return caller_->figure(processor_share) == (group.unified ? share_unified : share_first);
    const bool is_memory = controller == "memory";
    const std::uint64_t wanted = is_memory ? limits.memory : most_processes_;
    const std::uint64_t most = folders_.figure(is_memory ? memory_limit : process_limit);
    return most != 0 && most <= wanted && (is_memory ? memory() : folders_.figure(processes_now)) != 0;
}

json::object run_cgroup::look_at(pid_t process, const run_limits& limits) const
{
    json::object findings;
    for (const std::string_view each : needed_controllers) {
        const cgroup_path* const group = folders_.of(each);
        if (group == nullptr) continue;
        std::string says = group->unified ? "cgroup v2" : "cgroup v1";
        if (!has_member(group->folder, process))
            says = "a run is not in its cgroup";
        else if (!is_in_force(*group, each, limits))
            says = "the limit of a run's cgroup is not in force";
        findings[each] = says;
    }
    return findings;
}

// In v1 the limit of memory and swap must not be below that of memory, whichever way both go.
void run_cgroup::bound_memory(std::uint64_t bytes) const
{
    folders_.set(socket_limit, bytes);
    const cgroup_path* const group = folders_.of(swap_limit.controller);
    const bool is_first = group != nullptr && !group->unified;
    if (is_first) folders_.set(swap_limit, bytes);
    folders_.set(memory_limit, bytes);
    if (is_first) folders_.set(swap_limit, bytes);
}

void run_cgroup::kill_all() const
{
    for (const cgroup_path& each : folders_.all())
        if (each.unified) write_control(each.folder / "cgroup.kill", "1");
}

bool run_cgroup::out_of_memory() const { return folders_.events(memory_events, "oom_kill") > 0; }

std::uint64_t run_cgroup::refused_forks() const { return folders_.events(process_events, "max"); }

std::uint64_t run_cgroup::memory() const { return folders_.figure(memory_now) + folders_.figure(socket_now); }

// Shared memory is not on these two lists.
std::uint64_t run_cgroup::memory_without_cache() const
{
    const std::uint64_t all = memory();
    const std::uint64_t cache =
        folders_.events(memory_figures, "inactive_file") + folders_.events(memory_figures, "active_file");
    return all - std::min(all, cache);
}

bool run_cgroup::at_process_limit() const { return holds("pids") && folders_.figure(processes_now) >= most_processes_; }

std::uint64_t run_cgroup::peak_memory() const { return folders_.figure(memory_peak); }

}  // namespace cmcp::sandbox
