#include "probe/limit_judgements.hpp"

#include "text/words.hpp"

#include <string_view>
#include <vector>

namespace cmcp::sandbox {
namespace {

bool is_cgroup(std::string_view says) { return says == "cgroup v1" || says == "cgroup v2"; }

// By what the kernel says of a run that a cgroup should hold, or why no cgroup does.
layer judge_controller(const both_sides& facts, std::string_view controller, std::string_view effect,
                       std::string_view instead)
{
    const auto says = text(object_of(facts.launcher, "cgroups"), controller);
    if (!says) return off("nobody looked at the cgroup of a run");
    if (is_cgroup(*says)) return on(*says + ": " + std::string(effect));
    return off(*says + "; " + std::string(instead));
}

}  // namespace

layer judge_rlimits(const both_sides& facts)
{
    const json::object& limits = object_of(facts.inside, "limits");
    std::vector<std::string> open;
    for (const char* name : {"cpu", "fsize", "nofile", "nproc"})
        if (number(limits, name).value_or(-1) < 0) open.emplace_back(name);
    if (number(limits, "msgqueue") != 0) open.emplace_back("msgqueue");
    constexpr std::size_t all = 5;
    if (open.size() == all) return off("no limit is in force");
    if (!open.empty()) return degraded("not limited: " + joined(open, ", "));
    return on("processor time, file size, open files, processes, message queues");
}

layer judge_memory(const both_sides& facts)
{
    return judge_controller(facts, "memory", "the kernel holds a run to its limit with all that it keeps for it",
                            "a run is measured every few milliseconds, and a burst can go above its limit");
}

layer judge_cpu(const both_sides& facts)
{
    return judge_controller(facts, "cpu", "each caller has an equal share",
                            "runs have a low priority, and many processes have more than one");
}

layer judge_pids(const both_sides& facts)
{
    if (!flag_of(object_of(facts.inside, "forks"), "refused"))
        return off("a run can make more processes than its limit");
    const auto says = text(object_of(facts.launcher, "cgroups"), "pids");
    return on((says && is_cgroup(*says) ? *says : std::string("limit of the user")) +
              ": no run makes more processes than its limit");
}

layer judge_watchdog(const both_sides& facts)
{
    if (!flag_of(facts.launcher, "watchdog")) return off("the launcher does not watch its runs");
    const json::object& proc = object_of(facts.inside, "proc");
    if (!proc.empty() && !flag_of(proc, "there"))
        return degraded("time only: without /proc memory and processes cannot be measured");
    return on("each run's memory, processes and time are watched");
}

layer judge_workspace_quota(const both_sides& facts)
{
    const auto obstacle = text(facts.launcher, "project_obstacle");
    if (obstacle && obstacle->empty())
        return on("project quotas: the kernel refuses what goes beyond a sandbox's limit");
    return on_if(flag_of(facts.launcher, "workspace_quota"),
                 "the launcher counts what a sandbox holds and ends runs that fill it" +
                     (obstacle ? "; " + *obstacle : std::string()),
                 "the launcher does not count what sandboxes hold");
}

}  // namespace cmcp::sandbox
