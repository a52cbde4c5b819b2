#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// A whole answer. Date, Content-Length and Connection are added when the answer is sent.
struct http_reply {
    int status = 200;
    std::string content_type;  ///< empty: application/json, or none when the body is empty
    std::string body;
    std::vector<std::pair<std::string, std::string>> fields;
    bool close = false;  ///< the connection ends after the answer

    // Of a refusal, whose body depends on the path (http/refusal.hpp) and is written at sending.
    std::string problem;        ///< a sentence; empty: this is no refusal
    std::string problem_type;   ///< empty: that of the status
    bool may_have_run = false;  ///< nobody knows whether it was done

    std::string_view type() const { return !content_type.empty() || body.empty() ? content_type : json_type; }
    http_reply& with(std::string name, std::string value);

    static constexpr std::string_view json_type = "application/json";
};

/// A refusal outside of any JSON-RPC message. The sentence says what to do; `type` is one of refusal_types.
http_reply error_reply(int status, std::string_view sentence, std::string_view type = {});

/// 405 with the methods that are allowed (RFC 9110 section 15.5.6).
http_reply method_not_allowed(std::string_view allowed);

/// The type of a refusal that has none of its own.
std::string_view refusal_type_of(int status);

/// The body of a refusal: {"error": sentence, "error_type": type, "request_id": id}, or with `rpc_errors` the form that
/// clients of MCP read anyway, {"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": sentence}}.
/// An empty `request_id` is left out.
std::string refusal_body(const http_reply& refused, bool rpc_errors, std::string_view request_id = {});

/// The form that clients of Jupyter read: {"message": sentence, "reason": null}.
std::string jupyter_refusal_body(std::string_view sentence);

/// The form that clients of E2B read: {"code": status, "message": sentence}.
std::string e2b_refusal_body(int status, std::string_view sentence);

/// Status line and fields, without the empty line.
std::string reply_head(int status, const std::vector<std::pair<std::string, std::string>>& fields,
                       std::string_view content_type);

/// "Name: value" with CRLF. Characters that would end the line are dropped from the value, because it may be a peer's
/// input.
void append_field(std::string& out, std::string_view name, std::string_view value);

}  // namespace cmcp
