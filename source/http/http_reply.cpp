#include "http/http_reply.hpp"

#include "text/time_text.hpp"

#include <algorithm>
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

}  // namespace

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

std::string_view reason_phrase(int status)
{
    switch (status) {
        case 200:
            return "OK";
        case 202:
            return "Accepted";
        case 201:
            return "Created";
        case 204:
            return "No Content";
        case 206:
            return "Partial Content";
        case 304:
            return "Not Modified";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 406:
            return "Not Acceptable";
        case 409:
            return "Conflict";
        case 408:
            return "Request Timeout";
        case 413:
            return "Content Too Large";
        case 414:
            return "URI Too Long";
        case 415:
            return "Unsupported Media Type";
        case 416:
            return "Range Not Satisfiable";
        case 417:
            return "Expectation Failed";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 503:
            return "Service Unavailable";
        case 507:
            return "Insufficient Storage";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "Status";
    }
}

std::string reply_head(int status, const std::vector<std::pair<std::string, std::string>>& fields,
                       std::string_view content_type, std::string_view lines, bool keep_alive)
{
    std::string out;
    out.reserve(320);
    out.append("HTTP/1.1 ").append(std::to_string(status)).append(" ").append(reason_phrase(status)).append("\r\n");
    out.append(date_line());
    if (!content_type.empty()) append_field(out, "Content-Type", content_type);
    for (const auto& field : fields) append_field(out, field.first, field.second);
    out.append(lines);
    if (!keep_alive) out.append("Connection: close\r\n");
    out.append("\r\n");
    return out;
}

}  // namespace cmcp
