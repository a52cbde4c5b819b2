#pragma once

#include "async/blocking_pool.hpp"
#include "async/memory_budget.hpp"
#include "http/client_socket.hpp"
#include "http/http_request.hpp"
#include "jsonrpc/message.hpp"

#include <optional>
#include <string>

namespace cmcp {

struct http_settings;

/// The content of a long JSON body, read on the pool before its route is called.
struct long_body {
    jsonrpc::payload messages;                     ///< of a path of MCP
    std::optional<jsonrpc::decode_error> refusal;  ///< in place of them
    json::value value;                             ///< of another path
    std::string digest;                            ///< of the value, where it is an object (canonical_digest())
    std::string problem;                           ///< why there is no value; empty: there is one
};

/// The bounds of messages.
jsonrpc::decode_limits decode_limits_of(const http_settings& config);

/// Whether the request's body is to be read by read_long_body().
bool has_long_body(const http_request& request);

/// Fills `read_body` of the request in place of its body. The caller's share of the memory counts the text meanwhile.
/// False: the peer went away, and nobody reads on.
awaitable<bool> read_long_body(client_socket& peer, http_request& request, blocking_pool& pool,
                               const http_settings& config, memory_budget& budget);

}  // namespace cmcp
