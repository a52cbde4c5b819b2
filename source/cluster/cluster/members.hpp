#pragma once

#include "cluster/placement.hpp"
#include "config/cluster_member.hpp"
#include "etcd/etcd_keys.hpp"
#include "jsonrpc/json.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct cluster_settings;

/// The servers that work as one, as they are registered in etcd (`member/<node>`). A handle leads to one of them or
/// nowhere: no address is ever made of what a client sends. Io thread only.
class members {
public:
    explicit members(const cluster_settings& config);

    const cluster_member& own() const { return own_; }
    std::vector<cluster_member> others() const;  ///< that are registered now

    /// The others that are not registered any more and did not leave by themselves: what they have is missing.
    const std::set<std::string>& lost() const { return lost_; }

    /// What the other one says of itself; null: it is not registered.
    const json::object* about(std::string_view name) const;

    const home_ring& homes() const { return homes_; }
    const std::string& home_of(std::string_view principal) const;  ///< its place on the ring of those that are there
    bool has(std::string_view name) const { return name == own_.name || about(name) != nullptr; }

    /// Null: it was never registered since this server began, or it is this server.
    const cluster_member* other(std::string_view name) const;

    /// The other member that the handle names; null: it names none.
    const cluster_member* owner_of(std::string_view handle) const;

    /// The others but for those that have said that they end: nothing new goes to these over connections that are open.
    std::vector<cluster_member> staying() const;
    bool leaves(std::string_view name) const;  ///< it has said so, and is still registered

    /// The revision in which the other one was registered; 0: it is not.
    std::int64_t life_of(std::string_view name) const;

    /// Whether the other one has been registered anew since then, as far as was heard.
    bool came_after(std::string_view name, std::chrono::steady_clock::time_point moment) const;

    /// What is registered, and what changes of it.
    void put_all(const std::vector<etcd_entry>& all);
    void put(const etcd_entry& entry, bool removed);

    /// Hears of each change of who is registered.
    void on_change(std::function<void()> heard) { heard_.push_back(std::move(heard)); }

private:
    struct registration {
        json::object about;
        std::int64_t life = 0;
        std::chrono::steady_clock::time_point heard{};  // of this life
    };

    bool take(const etcd_entry& entry);
    void changed();

    std::string prefix_;
    home_ring homes_;
    cluster_member own_;
    std::map<std::string, cluster_member, std::less<>> known_;  // all since this server began
    std::map<std::string, registration, std::less<>> there_;
    std::set<std::string> lost_;
    std::vector<std::function<void()>> heard_;
};

/// What a member that ends says of itself, {"leaves": true}, before it takes no requests any more.
inline constexpr std::string_view leaves_mark = "leaves";

/// What the member says of itself beside its load: {"host", "port"}.
json::object address_of(const cluster_member& member);

}  // namespace cmcp
