#pragma once

#include "jsonrpc/message.hpp"
#include "mcp/caller.hpp"
#include "mcp/request_io.hpp"

#include <optional>
#include <string>

namespace cmcp {

/// A request of 2026-07-28 with what its `_meta` says.
struct modern_request {
    /// Throws rpc_error: invalid_params (`_meta` incomplete), unsupported_protocol_version.
    modern_request(std::string principal, jsonrpc::request incoming);

    json::value id;
    jsonrpc::request_ids ids;  ///< ours is given here where the transport gave none
    std::string method;
    json::object params;
    caller who;
    std::optional<log_severity> log_level;

    const json::object& meta() const { return params.at("_meta").as_object(); }
};

}  // namespace cmcp
