#pragma once

#include "async/event.hpp"
#include "egress/egress_ticket.hpp"

#include <optional>
#include <string>

namespace cmcp {

/// A place that a sandbox's programs want to connect to, about which a user is asked. The connections that wait share
/// it.
struct network_question {
    std::string place;  ///< host:port, as an entry of a list
    host who;
    std::uint16_t port = 0;
    std::shared_ptr<const egress_ticket> ticket;  ///< of the first connection, for the audit
    std::optional<policy_decision> verdict;       ///< nothing: it is open
    event settled;
};

}  // namespace cmcp
