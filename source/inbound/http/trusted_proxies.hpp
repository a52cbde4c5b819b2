#pragma once

#include "config/networks.hpp"
#include "http/http_request.hpp"
#include "log/bounded_log.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The proxies of which this server believes for whom they speak (MCP_TRUSTED_PROXIES).
class trusted_proxies {
public:
    /// Addresses, networks like 10.0.0.0/8, and `unix` for the clients of a UNIX socket.
    explicit trusted_proxies(const std::vector<std::string>& words);

    bool empty() const { return !unix_ && networks_.empty(); }

    /// `address` as of http_request: without a port, or `unix`.
    bool contains(const std::string& address) const;

    /// Where a trusted proxy has passed the request on, its fields Forwarded (RFC 7239) or X-Forwarded-For, -Proto and
    /// -Host become the request's client, scheme and host of links. A client that they do not name, or that cannot be
    /// read, is `unknown_client`. Without any such field the proxy speaks for itself.
    void believe(http_request& request) const;

    void settle() const { unbelieved_.settle(); }  ///< to be called from time to time

private:
    bool unix_ = false;
    networks networks_;
    mutable log::bounded_log unbelieved_{"forwarding_refused_more"};
};

}  // namespace cmcp
