#include "probe/layer.hpp"

#include <algorithm>
#include <string_view>

namespace cmcp::sandbox {
namespace {

using names = std::vector<std::string_view>;

// All of one inner list must be there for a group to be there; where there are several inner lists, one is enough.
std::vector<names> members(std::string_view group)
{
    if (group == "namespaces")
        return {
            {"user_namespace", "pid_namespace", "mount_namespace", "ipc_namespace", "uts_namespace"},
            // Started by root, Firejail makes no user namespace; a user of its own and no capabilities say the same.
            {"firejail", "own_uid", "capabilities", "pid_namespace", "mount_namespace", "ipc_namespace",
             "uts_namespace"}};
    if (group == "no_network") return {{"network_namespace"}};
    if (group == "limits") return {{"rlimits", "pids", "watchdog"}, {"rlimits", "pids", "memory"}};
    return {{group}};
}

bool is_on(const layers& all, std::string_view name)
{
    auto same = [&](const layer& l) { return l.name == name; };
    auto at = std::find_if(all.begin(), all.end(), same);
    return at != all.end() && at->is == layer::state::on;
}

bool is_there(const layers& all, std::string_view group)
{
    auto on = [&](std::string_view name) { return is_on(all, name); };
    auto all_on = [&](const names& list) { return std::all_of(list.begin(), list.end(), on); };
    const std::vector<names> ways = members(group);
    return std::any_of(ways.begin(), ways.end(), all_on);
}

}  // namespace

std::string_view to_string(layer::state s)
{
    constexpr std::string_view names[] = {"on", "degraded", "off", "not asked for"};
    return names[static_cast<std::size_t>(s)];
}

std::vector<std::string> missing(const layers& all, const std::vector<std::string>& required)
{
    std::vector<std::string> absent;
    for (const std::string& name : required)
        if (!is_there(all, name)) absent.push_back(name);
    return absent;
}

std::vector<std::string> blamed(const layers& all, const std::vector<std::string>& required)
{
    std::vector<std::string> blamed_layers;
    for (const std::string& name : missing(all, required)) {
        const std::vector<names> ways = members(name);
        for (const std::string_view member : ways.front())
            if (!is_on(all, member)) blamed_layers.emplace_back(member);
    }
    return blamed_layers;
}

std::vector<std::string> layer_names(const layers& all)
{
    std::vector<std::string> names{"namespaces", "no_network", "limits"};
    for (const layer& each : all) names.push_back(each.name);
    return names;
}

bool is_layer_name(const layers& all, std::string_view name)
{
    const auto names = layer_names(all);
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace cmcp::sandbox
