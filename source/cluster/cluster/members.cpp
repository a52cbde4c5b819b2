#include "cluster/members.hpp"

#include "cluster/etcd_names.hpp"
#include "config/cluster_settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "text/handles.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_entry = 64 * 1024;

cluster_member own_member(const cluster_settings& config)
{
    const auto& place = config.cluster_advertise.empty() ? config.cluster_listen : config.cluster_advertise;
    const auto address = read_host_and_port(place).value_or(std::pair(std::string(), std::uint16_t(0)));
    return {config.sandbox_node, address.first, address.second};
}

void count_registered(std::size_t members)
{
    static auto& alive =
        metrics::all().gauges("cmcp_members_alive", "Other servers of the cluster that are registered in etcd.").at();
    alive.set(static_cast<double>(members));
}

}  // namespace

json::object address_of(const cluster_member& member) { return {{"host", member.host}, {"port", member.port}}; }

members::members(const cluster_settings& config)
    : prefix_(etcd_names(config).members()), homes_({config.sandbox_node}), own_(own_member(config))
{
}

std::vector<cluster_member> members::others() const
{
    std::vector<cluster_member> all;
    for (const auto& [name, registered] : there_) all.push_back(known_.find(name)->second);
    return all;
}

std::vector<cluster_member> members::staying() const
{
    auto all = others();
    std::erase_if(all, [this](const auto& each) { return leaves(each.name); });
    return all;
}

bool members::leaves(std::string_view name) const
{
    const auto at = there_.find(name);
    return at != there_.end() && flag_of(at->second.about, leaves_mark);
}

const json::object* members::about(std::string_view name) const
{
    const auto at = there_.find(name);
    return at == there_.end() ? nullptr : &at->second.about;
}

const cluster_member* members::other(std::string_view name) const
{
    const auto at = known_.find(name);
    return at == known_.end() ? nullptr : &at->second;
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

std::int64_t members::life_of(std::string_view name) const
{
    const auto at = there_.find(name);
    return at == there_.end() ? 0 : at->second.life;
}

bool members::came_after(std::string_view name, std::chrono::steady_clock::time_point moment) const
{
    const auto at = there_.find(name);
    return at != there_.end() && at->second.heard > moment;
}

// False: it was registered before.
bool members::take(const etcd_entry& entry)
{
    std::string name = entry.key.substr(prefix_.size());
    if (name == own_.name || !is_member_name(name) || entry.value.size() > longest_entry) return false;
    auto about = jsonrpc::read_object(entry.value);
    const auto port = count_of(about, "port");
    auto host = text_of(about, "host");
    if (host.empty() || port == 0 || port > 65'535) return false;
    known_[name] = {name, std::move(host), static_cast<std::uint16_t>(port)};
    lost_.erase(name);
    auto& registered = there_[std::move(name)];
    const bool is_new = registered.life != entry.created;
    if (is_new) registered.heard = std::chrono::steady_clock::now();
    registered.about = std::move(about);
    registered.life = entry.created;
    return is_new;
}

void members::changed()
{
    std::vector<std::string> names{own_.name};
    for (const auto& [name, registered] : there_) names.push_back(name);
    homes_ = home_ring(names);
    count_registered(there_.size());
    for (const auto& heard : heard_) heard();
}

void members::put_all(const std::vector<etcd_entry>& all)
{
    for (const auto& [name, registered] : std::exchange(there_, {}))
        if (!flag_of(registered.about, leaves_mark)) lost_.insert(name);
    for (const auto& entry : all) take(entry);
    changed();
}

void members::put(const etcd_entry& entry, bool removed)
{
    const auto name = std::string_view(entry.key).substr(prefix_.size());
    const auto at = there_.find(name);
    if (removed && at == there_.end()) return;
    const bool left = leaves(name);
    if (removed) {
        log::info(left ? "member_left" : "member_lost", {{"member", name}});
        if (!left) lost_.insert(at->first);
        there_.erase(at);
    }
    const bool is_new = !removed && take(entry);
    if (is_new) log::info("member_there", {{"member", name}});
    if (removed || is_new || leaves(name) != left) changed();
}

}  // namespace cmcp
