#pragma once

#include "async/recent.hpp"

#include <cstdint>
#include <string>

namespace cmcp {

/// A connection that was allowed or refused.
struct egress_decision {
    double at = 0;  ///< seconds since 1970
    std::string principal;
    std::string host;
    std::uint16_t port = 0;
    bool allowed = false;
    std::string reason;  ///< the rule, as in policy_decision
};

/// The latest decisions of this process. Io thread only.
recent<egress_decision>& egress_decisions();

}  // namespace cmcp
