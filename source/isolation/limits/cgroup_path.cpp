#include "limits/cgroup_path.hpp"

#include "facilities/setup_step.hpp"
#include "limits/cgroup_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* aside = "container-mcp-server";  // the leaf of the server and its launcher

// The first of a hierarchy that is mounted twice is as good as the second.
struct mounted {
    std::string root, point, kind, options;
};

// "36 35 98:0 /root /point options optional… - kind source options", proc_pid_mountinfo(5).
std::vector<mounted> cgroup_mounts()
{
    std::vector<mounted> all;
    std::ifstream lines("/proc/self/mountinfo");
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        mounted one;
        std::string word;
        fields >> word >> word >> word >> one.root >> one.point;
        while (fields >> word && word != "-") {
        }
        fields >> one.kind >> word >> one.options;
        if (one.kind == "cgroup" || one.kind == "cgroup2") all.push_back(std::move(one));
    }
    return all;
}

bool has(const std::string& list, std::string_view word, char separator)
{
    std::istringstream words(list);
    for (std::string each; std::getline(words, each, separator);)
        if (each == word) return true;
    return false;
}

// Our own path in a hierarchy, from a line "number:controllers:path"; in v2 without controllers.
std::string own_path(std::string_view controller)
{
    std::istringstream lines(read_control("/proc/self/cgroup"));
    for (std::string line; std::getline(lines, line);) {
        const auto first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string list = line.substr(first + 1, second - first - 1);
        if (controller.empty() ? list.empty() : has(list, controller, ',')) return line.substr(second + 1);
    }
    return {};
}

// A launcher that replaces one that was lost starts where the server was moved to: runs belong beside that, not below.
fs::path undivided(const fs::path& folder) { return folder.filename() == aside ? folder.parent_path() : folder; }

// Where a mount shows a part of its hierarchy only, the paths of other parts lead nowhere.
fs::path below_mount(const mounted& at, std::string path)
{
    if (at.root != "/") {
        if (!path.starts_with(at.root)) return {};
        path.erase(0, at.root.size());
    }
    if (path.find("/..") != std::string::npos) return {};
    return path.size() > 1 ? fs::path(at.point + path) : fs::path(at.point);
}

fs::path own_folder(std::string_view controller)
{
    const std::string path = own_path(controller);
    if (path.empty()) return {};
    for (const mounted& each : cgroup_mounts()) {
        const bool same =
            controller.empty() ? each.kind == "cgroup2" : each.kind == "cgroup" && has(each.options, controller, ',');
        if (same) return below_mount(each, path);
    }
    return {};
}

// Empty: groups of v2 can be made there.
std::string obstacle_in(const fs::path& folder)
{
    if (::access(folder.c_str(), W_OK) == 0) return {};
    if (errno == EROFS)
        return "cgroup v2 is mounted read-only here, as container engines do: only the container's own limits count";
    return "the cgroup v2 folder is not writable (delegate it, for example with systemd's Delegate=memory pids cpu)";
}

std::optional<cgroup_path> unified_path(cgroup_paths& paths)
{
    cgroup_path unified{undivided(own_folder({})), true, {}};
    if (unified.folder.empty()) return std::nullopt;
    std::string offered = read_control(unified.folder / "cgroup.controllers");
    std::replace(offered.begin(), offered.end(), '\n', ' ');
    const std::string obstacle = obstacle_in(unified.folder);
    for (const std::string_view each : {"memory", "pids", "cpu", "io"}) {
        if (!has(offered, each, ' ')) continue;
        if (obstacle.empty())
            unified.controllers.emplace_back(each);
        else
            paths.lacking[std::string(each)] = obstacle;
    }
    return unified;
}

// A controller that v2 offers to nobody is not to be had of v1: the kernel gives each to one of them.
void add_first_version(const std::string& controller, cgroup_paths& paths)
{
    const fs::path folder = own_folder(controller);
    if (folder.empty()) {
        paths.lacking.try_emplace(controller, "no " + controller + " controller of cgroups is mounted here");
        return;
    }
    if (::access(folder.c_str(), W_OK) != 0) {
        paths.lacking[controller] = "the cgroup v1 folder of " + controller + " is not writable, as for all but root";
        return;
    }
    const auto same = [&](const cgroup_path& each) { return each.folder == folder; };
    auto at = std::find_if(paths.all.begin(), paths.all.end(), same);
    if (at == paths.all.end()) at = paths.all.insert(at, cgroup_path{folder, false, {}});
    at->controllers.push_back(controller);
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

// The server, this launcher, what else the server started meanwhile (the helper that starts programs for it), and a
// container's first process, which on a machine without containers is in a group of its own.
bool is_one_of_us(long process)
{
    const long parent = parent_of(process);
    return process == 1 || process == ::getppid() || process == ::getpid() || parent == ::getppid() || parent == -1;
}

// Anyone else's processes stay, and the division fails.
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

}  // namespace

bool cgroup_path::controls(std::string_view controller) const
{
    return std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
}

cgroup_paths find_cgroup_paths()
{
    cgroup_paths paths;
    auto unified = unified_path(paths);
    if (unified && !unified->controllers.empty()) paths.all.push_back(*unified);
    for (const std::string_view each : needed_controllers)
        if (!(unified && unified->controls(each)) && !paths.lacking.contains(each))
            add_first_version(std::string(each), paths);
    return paths;
}

// The server goes on starting while its launcher does: what comes between the move and the division is moved, too.
void divide(const cgroup_path& path)
{
    if (!path.unified) return;
    std::string orders;
    for (const std::string& each : path.controllers) orders += (orders.empty() ? "+" : " +") + each;
    for (int tries = 0; tries < 16; ++tries) {
        if (write_control(path.folder / "cgroup.subtree_control", orders)) return;
        if (errno != EBUSY) break;
        if (!move_ourselves_aside(path.folder)) throw step_failed("move other processes out of the cgroup", EBUSY);
    }
    throw step_failed("divide the cgroup");
}

}  // namespace cmcp::sandbox
