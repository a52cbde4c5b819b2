#pragma once

#include "http/bound_address.hpp"

#include <optional>

namespace cmcp {

struct cluster_settings;

/// The address at which this server listens for the other ones of its cluster (CLUSTER_LISTEN, else CLUSTER_MEMBERS);
/// nothing: it is alone. Throws as bound_address does.
std::optional<bound_address> members_address(const cluster_settings& config);

}  // namespace cmcp
