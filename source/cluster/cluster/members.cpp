#include "cluster/members.hpp"

#include "config/cluster_settings.hpp"
#include "text/handles.hpp"

#include <algorithm>

namespace cmcp {

namespace {

home_ring ring_of(const cluster_settings& config)
{
    std::vector<std::string> names;
    for (auto& each : read_members(config.cluster_members)) names.push_back(std::move(each.name));
    return home_ring(names);
}

}  // namespace

members::members(const cluster_settings& config) : homes_(ring_of(config))
{
    for (auto& each : read_members(config.cluster_members)) {
        if (each.name == config.sandbox_node)
            own_ = std::move(each);
        else
            others_.push_back(std::move(each));
    }
}

const cluster_member* members::other(std::string_view name) const
{
    const auto place =
        std::find_if(others_.begin(), others_.end(), [&](const auto& each) { return each.name == name; });
    return place == others_.end() ? nullptr : &*place;
}

const std::string& members::home_of(std::string_view principal) const
{
    return homes_.home_of(principal, [](const std::string&) { return true; });
}

const cluster_member* members::owner_of(std::string_view handle) const
{
    const auto node = handle_maker::node_of(handle);
    return node.empty() ? nullptr : other(node);
}

}  // namespace cmcp
