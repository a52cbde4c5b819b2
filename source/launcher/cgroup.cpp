#include "launcher/cgroup.hpp"

#include "jail/cgroup_files.hpp"
#include "jail/fault.hpp"
#include "jail/setup_step.hpp"

#include <fcntl.h>
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

// A file of a controller by its names in cgroup v2 and v1; nullptr: that version has none.
struct control_file {
    std::string_view controller;
    const char* unified;
    const char* first;
};

constexpr control_file memory_limit{"memory", "memory.max", "memory.limit_in_bytes"};
constexpr control_file memory_now{"memory", "memory.current", "memory.usage_in_bytes"};
constexpr control_file memory_peak{"memory", "memory.peak", "memory.max_usage_in_bytes"};
// v2 counts sockets as memory; v1 counts them here, once there is a limit.
constexpr control_file socket_limit{"memory", nullptr, "memory.kmem.tcp.limit_in_bytes"};
constexpr control_file socket_now{"memory", nullptr, "memory.kmem.tcp.usage_in_bytes"};
constexpr control_file process_limit{"pids", "pids.max", "pids.max"};
constexpr control_file processes_now{"pids", "pids.current", "pids.current"};
constexpr control_file process_events{"pids", "pids.events", "pids.events"};
constexpr control_file memory_events{"memory", "memory.events", "memory.oom_control"};
constexpr control_file memory_end{"memory", "memory.oom.group", nullptr};
// 0 in v2; in v1 the limit of memory and swap together.
constexpr control_file swap_limit{"memory", "memory.swap.max", "memory.memsw.limit_in_bytes"};
constexpr control_file processor_share{"cpu", "cpu.weight", "cpu.shares"};
constexpr std::uint64_t share_unified = 100, share_first = 1024;  // what the kernel gives by itself

const char* file_name(const cgroup_place& place, const control_file& file)
{
    return place.unified ? file.unified : file.first;
}

// Empty: no group here has such a file.
fs::path place_of(const cgroup_folders& groups, const control_file& file)
{
    const cgroup_place* const place = groups.of(file.controller);
    const char* const name = place != nullptr ? file_name(*place, file) : nullptr;
    return name != nullptr ? place->folder / name : fs::path();
}

bool set(const cgroup_folders& of, const control_file& file, std::uint64_t value)
{
    const fs::path place = place_of(of, file);
    return place.empty() || write_control(place, std::to_string(value));
}

std::uint64_t figure(const cgroup_folders& of, const control_file& file)
{
    const fs::path place = place_of(of, file);
    return place.empty() ? 0 : number_in(place);
}

std::uint64_t events(const cgroup_folders& groups, const control_file& file, const std::string& event)
{
    const fs::path place = place_of(groups, file);
    return place.empty() ? 0 : number_in(place, event);
}

// Three quarters of what the group that holds the launcher may have, so that one caller leaves room for others and for
// the server. Nothing where that has no limit; v1 shows none as a number that no machine has.
std::optional<std::uint64_t> most_of_a_caller(const cgroup_place& callers, const control_file& file)
{
    constexpr std::uint64_t no_limit = 1ull << 60;
    const std::uint64_t whole = number_in(callers.folder.parent_path() / file_name(callers, file));
    if (whole == 0 || whole >= no_limit) return std::nullopt;
    return whole - whole / 4;
}

void must_set(const cgroup_folders& of, const control_file& file, std::uint64_t value)
{
    if (!set(of, file, value)) throw step_failed("limit the cgroup: " + std::string(file.controller));
}

// The files for swap are absent where the kernel does not count it.
void forbid_swap(const cgroup_folders& groups, std::uint64_t memory)
{
    const cgroup_place* const place = groups.of(swap_limit.controller);
    if (place != nullptr && !set(groups, swap_limit, place->unified ? 0 : memory) && errno != ENOENT)
        throw step_failed("limit the cgroup: swap");
}

void put_into(const cgroup_folders& groups, pid_t process)
{
    for (const cgroup_place& each : groups.all())
        if (!each.unified && !write_control(each.folder / "cgroup.procs", std::to_string(process)))
            throw step_failed("enter the cgroup");
}

// A number of a process means nothing in another PID namespace, which may share the hierarchy: so a launcher's group is
// named by both.
std::string name_of_launcher(pid_t launcher)
{
    struct stat status {};
    check(::stat("/proc/self/ns/pid", &status), "name the cgroup");
    return std::string(prefix) + std::to_string(launcher) + "-" + std::to_string(status.st_ino);
}

// A group of that name could not be removed with its run, because the end of a process takes its time.
void make_anew(const fs::path& folder)
{
    if (errno == EEXIST) remove_group(folder);
    check(::mkdir(folder.c_str(), 0755), "make the cgroup");
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

// Delegates, so that a failure removes what was made before it.
cgroup_folders::cgroup_folders(const std::vector<cgroup_place>& parents, const std::string& name) : cgroup_folders()
{
    for (const cgroup_place& each : parents) {
        cgroup_place group{each.folder / name, each.unified, each.controllers};
        if (::mkdir(group.folder.c_str(), 0755) != 0) make_anew(group.folder);
        all_.push_back(std::move(group));
    }
}

cgroup_folders& cgroup_folders::operator=(cgroup_folders&& other) noexcept
{
    std::swap(all_, other.all_);
    return *this;
}

void cgroup_folders::add(cgroup_folders other)
{
    all_.insert(all_.end(), other.all_.begin(), other.all_.end());
    other.all_.clear();
}

cgroup_folders::~cgroup_folders()
{
    for (const cgroup_place& each : all_) ::rmdir(each.folder.c_str());
}

const cgroup_place* cgroup_folders::of(std::string_view controller) const
{
    const auto has = [&](const cgroup_place& each) { return each.controls(controller); };
    const auto at = std::find_if(all_.begin(), all_.end(), has);
    return at == all_.end() ? nullptr : &*at;
}

run_cgroup::run_cgroup(std::shared_ptr<const cgroup_folders> caller, const std::string& name, const run_limits& limits,
                       std::uint64_t helpers)
    : caller_(std::move(caller)), folders_(caller_->all(), name), most_processes_(limits.processes + helpers)
{
    must_set(folders_, memory_limit, limits.memory);
    must_set(folders_, socket_limit, limits.memory);
    must_set(folders_, process_limit, most_processes_);
    forbid_swap(folders_, limits.memory);
    must_set(folders_, memory_end, 1);
    for (const cgroup_place& each : folders_.all())
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

bool run_cgroup::is_in_force(const cgroup_place& place, std::string_view controller, const run_limits& limits) const
{
    if (controller == "cpu") return figure(*caller_, processor_share) == (place.unified ? share_unified : share_first);
    const bool is_memory = controller == "memory";
    const std::uint64_t wanted = is_memory ? limits.memory : most_processes_;
    const std::uint64_t most = figure(folders_, is_memory ? memory_limit : process_limit);
    return most != 0 && most <= wanted && (is_memory ? memory() : figure(folders_, processes_now)) != 0;
}

json::object run_cgroup::look_at(pid_t process, const run_limits& limits) const
{
    json::object findings;
    for (const std::string_view each : needed_controllers) {
        const cgroup_place* const place = folders_.of(each);
        if (place == nullptr) continue;
        std::string says = place->unified ? "cgroup v2" : "cgroup v1";
        if (!has_member(place->folder, process))
            says = "a run is not in its cgroup";
        else if (!is_in_force(*place, each, limits))
            says = "the limit of a run's cgroup is not in force";
        findings[each] = says;
    }
    return findings;
}

void run_cgroup::kill_all() const
{
    for (const cgroup_place& each : folders_.all())
        if (each.unified) write_control(each.folder / "cgroup.kill", "1");
}

bool run_cgroup::out_of_memory() const { return events(folders_, memory_events, "oom_kill") > 0; }

std::uint64_t run_cgroup::refused_forks() const { return events(folders_, process_events, "max"); }

std::uint64_t run_cgroup::memory() const { return figure(folders_, memory_now) + figure(folders_, socket_now); }

bool run_cgroup::at_process_limit() const
{
    return holds("pids") && figure(folders_, processes_now) >= most_processes_;
}

std::uint64_t run_cgroup::peak_memory() const { return figure(folders_, memory_peak); }

cgroup_tree::cgroup_tree(bool wanted)
{
    if (!wanted) return;
    const cgroup_places places = find_cgroup_places();
    lacking_ = places.lacking;
    for (const cgroup_place& each : places.all) add(each);
}

// A hierarchy that cannot be used leaves the others as they are.
void cgroup_tree::add(const cgroup_place& place)
try {
    remove_abandoned(place.folder);
    divide(place);
    cgroup_folders own({place}, name_of_launcher(::getpid()));
    divide(own.all().front());
    own_.add(std::move(own));
} catch (const step_failed& failure) {
    for (const std::string& each : place.controllers)
        lacking_[each] =
            std::string(failure.what()) + " failed (" + std::strerror(failure.error) + ") in " + place.folder.string();
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
    for (const cgroup_place& each : folders->all()) {
        divide(each);
        if (each.controls("cpu")) must_set(*folders, processor_share, each.unified ? share_unified : share_first);
    }
    for (const control_file& limit : {memory_limit, process_limit})
        if (const cgroup_place* const own = own_.of(limit.controller))
            if (const auto most = most_of_a_caller(*own, limit)) must_set(*folders, limit, *most);
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
                             std::uint64_t helpers)
{
    return {of_caller(caller), std::to_string(number), limits, helpers};
}

}  // namespace cmcp::sandbox
