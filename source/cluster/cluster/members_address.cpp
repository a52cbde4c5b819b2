#include "cluster/members_address.hpp"

#include "cluster/members.hpp"
#include "config/cluster_member.hpp"
#include "config/cluster_settings.hpp"

namespace cmcp {

std::optional<bound_address> members_address(const cluster_settings& config)
{
    if (config.cluster_members.empty()) return std::nullopt;
    if (const auto listens = read_host_and_port(config.cluster_listen))
        return bound_address(listens->first, listens->second, true);
    const auto own = members(config).own();
    return bound_address(own.host, own.port, true);
}

}  // namespace cmcp
