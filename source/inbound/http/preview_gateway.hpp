#pragma once

#include "http/exchange.hpp"

#include <string_view>

namespace cmcp {

/// Shown ports of sandboxes, as the transport sees them: it brings the requests, and asks who they are for.
class preview_gateway {
public:
    virtual ~preview_gateway() = default;

    /// Whether all requests of this Host are for shown ports.
    virtual bool has_origin(std::string_view host) const = 0;

    /// The sandbox that such a request is for, as its address names it; empty: it names none.
    virtual std::string handle_of(const http_request& request) const = 0;

    /// A request of such a Host, or below /preview/.
    virtual awaitable<> serve(exchange& x) = 0;

    virtual void end_all() = 0;  ///< the connections that are open
};

}  // namespace cmcp
