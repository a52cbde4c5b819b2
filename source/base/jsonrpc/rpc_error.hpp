#pragma once

#include "jsonrpc/json.hpp"

#include <optional>
#include <stdexcept>
#include <string>

namespace cmcp {

/// JSON-RPC 2.0 section 5.1 and the codes that MCP adds.
namespace rpc_code {
inline constexpr int parse_error = -32700;
inline constexpr int invalid_request = -32600;
inline constexpr int method_not_found = -32601;
inline constexpr int invalid_params = -32602;
inline constexpr int internal_error = -32603;
inline constexpr int server_error = -32000;
inline constexpr int session_not_found = -32001;             ///< as clients look for it (HTTP 404)
inline constexpr int server_busy = -32050;                   ///< of this server: try again later (HTTP 503)
inline constexpr int resource_not_found = -32002;            ///< revisions up to 2025-11-25
inline constexpr int header_mismatch = -32020;               ///< 2026-07-28
inline constexpr int missing_client_capability = -32021;     ///< 2026-07-28
inline constexpr int unsupported_protocol_version = -32022;  ///< 2026-07-28
}  // namespace rpc_code

/// A protocol error: thrown anywhere below the dispatcher, which turns it into a JSON-RPC error response.
struct rpc_error : std::runtime_error {
    rpc_error(int error_code, const std::string& message, std::optional<json::value> error_data = {})
        : std::runtime_error(message), code(error_code), data(std::move(error_data))
    {
    }

    int code;
    std::optional<json::value> data;
};

}  // namespace cmcp
