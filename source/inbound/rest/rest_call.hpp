#pragma once

#include "http/exchange.hpp"
#include "mcp/server_core.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace cmcp {

struct settings;

/// Takes the body, which is a JSON object or empty. Returns the refusal of another one.
std::optional<http_reply> read_arguments(http_request& request, std::size_t depth, json::object& into);

/// Answers a call of a tool that does not begin; the refusal is on record.
awaitable<> refuse_call(exchange& x, std::string name, json::object arguments, http_reply refusal);

/// Calls a tool for the request's caller and answers with its result object, or refuses. With `Accept:
/// text/event-stream` what the tool prints comes while it runs. The connection's end cancels the call.
awaitable<> call_tool(exchange& x, server_core& core, const settings& config, std::string name, json::object arguments);

}  // namespace cmcp
