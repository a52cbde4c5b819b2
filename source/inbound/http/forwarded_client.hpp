#pragma once

#include "http/http_request.hpp"

#include <functional>
#include <optional>
#include <string>

namespace cmcp {

/// In place of the address of a client that a trusted proxy did not name, or that cannot be read. It is in no network.
inline constexpr auto unknown_client = "unknown";

/// The client as the proxies in front of this server describe it.
struct forwarded_client {
    std::string address = unknown_client;  ///< IPv6 without brackets, IPv4 always as IPv4
    std::string scheme;                    ///< http or https; empty: no proxy says
    std::string host;                      ///< as in Host; empty: no proxy says
    bool is_broken = false;                ///< an item that counts is malformed, or the two kinds contradict each other
};

/// Read from Forwarded (RFC 7239) or X-Forwarded-For, -Proto and -Host, from the right: each proxy appends what it has
/// seen, so the first address from the right that is not `trusted` is the client's, and what stands before it may be
/// invented. Where both kinds of fields come, one of them may be the client's own, so only what both say alike counts.
/// Nothing: there is no such field.
std::optional<forwarded_client> forwarded_client_of(const http_request& request,
                                                    const std::function<bool(const std::string& address)>& trusted);

}  // namespace cmcp
