#include "cluster/member_answer.hpp"

#include "http/http_reply.hpp"
#include "http/route.hpp"
#include "preview/relayed_header.hpp"

#include <string_view>

namespace cmcp {

namespace {

bool passes(std::string_view name)
{
    return is_any_of(name, {"accept-ranges", "allow", "cache-control", "content-disposition", "content-encoding",
                            "content-language", "content-range", "content-type", "date", "etag", "last-modified",
                            "mcp-session-id", "retry-after", "vary", "x-accel-buffering", "x-request-id"});
}

void append_protection(std::string& head)
{
    append_field(head, "Content-Security-Policy", "sandbox; default-src 'none'");
    append_field(head, "X-Content-Type-Options", "nosniff");
    append_field(head, "Cross-Origin-Resource-Policy", "same-origin");
}

}  // namespace

std::string head_of_member_answer(const relayed_answer_head& from, const http_request& request)
{
    const auto* target = request.target;
    if (target != nullptr && target->relays)
        return head_of_passed_answer(from, target->claims && target->claims(request));
    std::string head = status_line(from);
    const auto connection = relayed_value(from, boost::beast::http::field::connection);
    for (const auto& each : from) {
        const std::string_view name(each.name_string().data(), each.name_string().size());
        const std::string_view value(each.value().data(), each.value().size());
        if (!is_hop_by_hop(name, connection) && passes(name)) append_field(head, name, value);
    }
    append_protection(head);
    return head;
}

}  // namespace cmcp
