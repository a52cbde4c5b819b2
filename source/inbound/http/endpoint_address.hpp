#pragma once

#include "http/http_request.hpp"

#include <string>
#include <string_view>

namespace cmcp {

struct http_settings;

/// The address that the endpoint event of /sse names, so that SDKs, which resolve it against the stream's address, and
/// hand-written clients, which put it behind the host, both reach POST /messages: an absolute path, behind the path
/// that X-Forwarded-Prefix or MCP_PUBLIC_URL tells. Where forwarding headers show a proxy of which neither is known,
/// the path is relative: the proxy may have taken a prefix away.
std::string endpoint_address(const http_request& request, const std::string& public_url, std::string_view session);

/// The server's address by the request, without a slash at the end: MCP_PUBLIC_URL, or Host with the fields of a
/// proxy.
std::string address_used(const http_request& request, const http_settings& config);

/// Whether the client's browser has reached the server by https, as far as the request and MCP_PUBLIC_URL tell.
bool is_secure(const http_request& request, const http_settings& config);

/// The path of an address without a slash at its end; empty: it has none, or is no address.
std::string path_of(const std::string& url);

}  // namespace cmcp
