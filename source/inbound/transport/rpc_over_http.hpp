#pragma once

#include "http/http_reply.hpp"
#include "http/http_request.hpp"
#include "jsonrpc/message.hpp"
#include "mcp/tool_registry.hpp"
#include "transport/session_store.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

class server_core;
struct settings;

/// The types that a client's Accept header lets it be sent. Without the header, or with */*, both.
struct accepted_types {
    bool json = true;
    bool events = true;
};

accepted_types parse_accept(const std::optional<std::string_view>& header);

/// An HTTP error whose body is a JSON-RPC error response; `id` null when it could not be read.
http_reply rpc_error_reply(int status, const json::value& id, const rpc_error& error);

/// Decodes the body and frees it; its requests take the ids of the HTTP request. The answer when it is no JSON-RPC.
std::optional<http_reply> decode_body(http_request& request, const settings& config, jsonrpc::payload& into);

/// 403 where the caller's scopes do not cover all the messages.
std::optional<http_reply> refuse_scopes(const http_request& request, const settings& config, const tool_registry& tools,
                                        const std::vector<jsonrpc::message>& messages);

/// JSON-RPC batches came with 2025-03-26 and went with 2025-06-18.
std::optional<http_reply> refuse_batch(const jsonrpc::payload& received, revision spoken);

/// 404 for a session that has ended or never was, in the words that clients look for, and `more`.
http_reply session_not_found(const std::string& more = {});

/// A new session of the client that asks, which may do and sees what the request shows. Null with 503 or 429 and
/// Retry-After in `refusal` where there are too many.
std::shared_ptr<http_session> open_session(const http_request& request, const settings& config, server_core& core,
                                           session_store& sessions, bool sse, http_reply& refusal);

}  // namespace cmcp
