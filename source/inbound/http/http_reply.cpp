#include "http/http_reply.hpp"

#include "jsonrpc/message.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/time_text.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>

namespace cmcp {

namespace {

// RFC 9110 section 6.6.1: an origin server with a clock sends Date; formatted once a second.
const std::string& date_line()
{
    static std::time_t formatted_at = 0;
    static std::string line;
    auto now = std::time(nullptr);
    if (now == formatted_at) return line;
    line = utc_text(now, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n");
    formatted_at = now;
    return line;
}

struct status_row {
    int status;
    std::string_view phrase;
    std::string_view refusal;  // the type that tells programs why
};

constexpr std::array status_rows{
    status_row{200, "OK", {}},
    status_row{201, "Created", {}},
    status_row{202, "Accepted", {}},
    status_row{204, "No Content", {}},
    status_row{206, "Partial Content", {}},
    status_row{303, "See Other", {}},
    status_row{304, "Not Modified", {}},
    status_row{308, "Permanent Redirect", {}},
    status_row{400, "Bad Request", "InvalidRequest"},
    status_row{401, "Unauthorized", "Unauthorized"},
    status_row{403, "Forbidden", "Forbidden"},
    status_row{404, "Not Found", "NotFound"},
    status_row{405, "Method Not Allowed", "MethodNotAllowed"},
    status_row{406, "Not Acceptable", "NotAcceptable"},
    status_row{408, "Request Timeout", "TimedOut"},
    status_row{409, "Conflict", "StateError"},
    status_row{413, "Content Too Large", "TooLarge"},
    status_row{414, "URI Too Long", "TooLarge"},
    status_row{415, "Unsupported Media Type", "UnsupportedMediaType"},
    status_row{416, "Range Not Satisfiable", "RangeNotSatisfiable"},
    status_row{417, "Expectation Failed", "InvalidRequest"},
    status_row{421, "Misdirected Request", "NotFound"},
    status_row{426, "Upgrade Required", "InvalidRequest"},
    status_row{429, "Too Many Requests", "Busy"},
    status_row{431, "Request Header Fields Too Large", "TooLarge"},
    status_row{500, "Internal Server Error", "ServerError"},
    status_row{502, "Bad Gateway", "NotAvailable"},
    status_row{503, "Service Unavailable", "Busy"},
    status_row{505, "HTTP Version Not Supported", "InvalidRequest"},
    status_row{507, "Insufficient Storage", "QuotaExceeded"},
};

const status_row& row_of(int status)
{
    static constexpr status_row unlisted{0, "Status", "InvalidRequest"};
    const auto row = std::find_if(status_rows.begin(), status_rows.end(),
                                  [status](const status_row& each) { return each.status == status; });
    return row == status_rows.end() ? unlisted : *row;
}

}  // namespace

std::string_view refusal_type_of(int status) { return row_of(status).refusal; }

void append_field(std::string& out, std::string_view name, std::string_view value)
{
    out.append(name).append(": ");
    std::copy_if(value.begin(), value.end(), std::back_inserter(out),
                 [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
    out += "\r\n";
}

http_reply& http_reply::with(std::string name, std::string value)
{
    fields.emplace_back(std::move(name), std::move(value));
    return *this;
}

http_reply error_reply(int status, std::string_view sentence, std::string_view type)
{
    http_reply reply;
    reply.status = status;
    reply.problem = sentence;
    reply.problem_type = type;
    return reply;
}

http_reply method_not_allowed(std::string_view allowed)
{
    auto reply = error_reply(405, "This path takes the methods " + std::string(allowed) + " only.");
    reply.with("Allow", std::string(allowed));
    return reply;
}

std::string refusal_body(const http_reply& refused, bool rpc_errors, std::string_view request_id)
{
    if (rpc_errors) {
        std::optional<json::value> data;
        if (refused.may_have_run) data = json::object{{"may_have_run", true}};
        return jsonrpc::encode_error(nullptr, rpc_error(rpc_code::server_error, refused.problem, std::move(data)));
    }
    json::object body;
    body["error"] = refused.problem;
    body["error_type"] =
        refused.problem_type.empty() ? refusal_type_of(refused.status) : std::string_view(refused.problem_type);
    if (refused.may_have_run) body["may_have_run"] = true;
    if (!request_id.empty()) body["request_id"] = request_id;
    return jsonrpc::write_json(body);
}

std::string jupyter_refusal_body(std::string_view sentence)
{
    return jsonrpc::write_json(json::object{{"message", sentence}, {"reason", nullptr}});
}

std::string e2b_refusal_body(int status, std::string_view sentence)
{
    return jsonrpc::write_json(json::object{{"code", status}, {"message", sentence}});
}

std::string reply_head(int status, const std::vector<std::pair<std::string, std::string>>& fields,
                       std::string_view content_type)
{
    std::string out;
    out.reserve(320);
    out.append("HTTP/1.1 ").append(std::to_string(status)).append(" ").append(row_of(status).phrase).append("\r\n");
    out.append(date_line());
    // No page of another origin or port loads an answer as a picture, a script or a style (Fetch section 3.6).
    out.append("Cross-Origin-Resource-Policy: same-origin\r\n");
    if (!content_type.empty()) append_field(out, "Content-Type", content_type);
    for (const auto& field : fields) append_field(out, field.first, field.second);
    return out;
}

}  // namespace cmcp
