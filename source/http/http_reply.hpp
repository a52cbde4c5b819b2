#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// A whole answer. Date, Content-Length and Connection are added when it is sent.
struct http_reply {
    int status = 200;
    std::string content_type;                       ///< empty: application/json, or none when the body is empty
    std::string body;
    std::vector<std::pair<std::string, std::string>> fields;
    bool close = false;                             ///< the connection ends after it

    std::string_view type() const { return !content_type.empty() || body.empty() ? content_type : json_type; }
    http_reply& with(std::string name, std::string value);

    static constexpr std::string_view json_type = "application/json";
};

/// An error outside of any JSON-RPC message, in the form that clients of MCP read anyway:
/// {"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": sentence}}. The sentence says what to do.
http_reply error_reply(int status, std::string_view sentence);

/// 405 with the methods that are allowed (RFC 9110 section 15.5.6).
http_reply method_not_allowed(std::string_view allowed);

std::string_view reason_phrase(int status);

/// Status line and fields up to the empty line. `framing` is the Content-Length or Transfer-Encoding line, with CRLF.
std::string reply_head(int status, const std::vector<std::pair<std::string, std::string>>& fields,
                       std::string_view content_type, std::string_view framing, bool keep_alive);

}  // namespace cmcp
