#pragma once

#include "egress/egress_ticket.hpp"
#include "mcp/caller.hpp"

namespace cmcp {

/// Whether the caller's use of the web has the limits of a sandbox's network.
inline bool has_network_of_sandbox(const caller& who) { return who.code && !who.code->network; }

/// Keeps a use of the web by code in a sandbox within the sandbox's network: its hosts, its prompts to the user,
/// its bytes.
inline void keep_to_network_of(const caller& who, egress_ticket& ticket)
{
    if (has_network_of_sandbox(who)) ticket.stay_within(who.code->way_out());
}

}  // namespace cmcp
