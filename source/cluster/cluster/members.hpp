#pragma once

#include "cluster/placement.hpp"
#include "config/cluster_member.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct cluster_settings;

/// The servers that work as one (CLUSTER_MEMBERS). A handle leads to a member of this list or nowhere: no address is
/// ever made of what a client sends.
class members {
public:
    explicit members(const cluster_settings& config);

    const cluster_member& own() const { return own_; }
    const std::vector<cluster_member>& others() const { return others_; }

    const home_ring& homes() const { return homes_; }
    const std::string& home_of(std::string_view principal) const;  ///< its place on the ring, whoever is there
    bool has(std::string_view name) const { return name == own_.name || other(name) != nullptr; }

    /// Null: there is no such member, or it is this server.
    const cluster_member* other(std::string_view name) const;

    /// The other member that the handle names; null: it names none.
    const cluster_member* owner_of(std::string_view handle) const;

private:
    home_ring homes_;
    cluster_member own_;
    std::vector<cluster_member> others_;
};

}  // namespace cmcp
