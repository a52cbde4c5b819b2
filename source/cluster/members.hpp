#pragma once

#include "config/cluster_member.hpp"
#include "config/settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The servers that work as one (CLUSTER_MEMBERS). A handle leads to a member of this list or nowhere: no address is
/// ever made of what a client sends.
class members {
public:
    explicit members(const settings& config);

    const cluster_member& own() const { return own_; }
    const std::vector<cluster_member>& others() const { return others_; }

    /// Null: there is no such member, or it is this server.
    const cluster_member* other(std::string_view name) const;

    /// The other member that the handle names; null: it names none.
    const cluster_member* owner_of(std::string_view handle) const;

private:
    cluster_member own_;
    std::vector<cluster_member> others_;
};

}  // namespace cmcp
