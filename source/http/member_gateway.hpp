#pragma once

#include "http/exchange.hpp"

namespace cmcp {

/// The other servers of a cluster, as connections see them.
class member_gateway {
public:
    virtual ~member_gateway() = default;

    /// Whether the request names by its handle what another member has.
    virtual bool is_elsewhere(const http_request& request) const = 0;

    /// Answers such a request with that member's answer, or says why there is none. False: it is this server's now, and
    /// nothing of it has been read.
    virtual awaitable<bool> pass_on(exchange& x) = 0;
};

}  // namespace cmcp
