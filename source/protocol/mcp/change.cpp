#include "mcp/change.hpp"

namespace cmcp {

bool change_filter::lets_through(const change& what) const
{
    if (what.method == "notifications/tools/list_changed") return tools;
    if (what.method == "notifications/prompts/list_changed") return prompts;
    return what.method == task_changed && tasks.contains(what.uri);
}

namespace {

json::array array_of(const std::set<std::string, std::less<>>& names)
{
    json::array list;
    for (const auto& name : names) list.emplace_back(json::string(name));
    return list;
}

}  // namespace

json::object change_filter::describe() const
{
    json::object described;
    if (tools) described["toolsListChanged"] = true;
    if (prompts) described["promptsListChanged"] = true;
    if (!resources.empty()) described["resourceSubscriptions"] = array_of(resources);
    if (!tasks.empty()) described["taskIds"] = array_of(tasks);
    return described;
}

}  // namespace cmcp
