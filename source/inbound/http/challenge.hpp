#pragma once

#include "http/http_reply.hpp"
#include "http/http_request.hpp"
#include "identity/gatekeeper.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

struct settings;

/// 401 or 503 of a request whose credentials are refused. A client with an authorization server learns what to ask for.
http_reply refusal_of_login(const http_request& request, const gatekeeper& logins, const admission& refused);

/// 403 where the caller's credentials lack scopes. A client with an authorization server can ask for them (step-up).
std::optional<http_reply> refuse_scopes(const http_request& request, const settings& config, scope_set needed);

/// The scopes of the tools that the settings leave on.
scope_set offered_scopes(const settings& config);

/// Behind the server's address, with the path of an endpoint behind it (RFC 9728 section 3).
inline constexpr std::string_view metadata_path = "/.well-known/oauth-protected-resource";

/// The metadata of the endpoint at `path` (RFC 9728), where a client reaches this server.
std::string metadata_address(const http_request& request, const settings& config, std::string_view path);

}  // namespace cmcp
