#pragma once

#include "http/http_reply.hpp"
#include "http/http_request.hpp"
#include "mcp/caller.hpp"
#include "mcp/tool_registry.hpp"

#include <optional>
#include <string>

namespace cmcp {

/// The profile of tools that the address names, as /mcp?profile=agent does, or the caller's credentials; empty: none.
std::string profile_of(const http_request& request);

/// The scopes of which a caller is shown the tools.
scope_set shown_scopes(const http_request& request);

/// Who asks, without what a message says of its client.
caller caller_of(const http_request& request);

/// 400 that names the known profiles, where the address names another.
std::optional<http_reply> refuse_profile(const http_request& request, const tool_registry& tools);

}  // namespace cmcp
