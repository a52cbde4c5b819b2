#include "http/relayed_fields.hpp"

#include "http/http_reply.hpp"
#include "text/ascii.hpp"
#include "text/encodings.hpp"
#include "text/words.hpp"

#include <openssl/sha.h>

#include <algorithm>

namespace cmcp {

namespace http = boost::beast::http;

namespace {

std::string expected_accept(std::string_view key)
{
    const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // RFC 6455 section 1.3
    unsigned char digest[SHA_DIGEST_LENGTH];
    ::SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
    return base64_encode({reinterpret_cast<const char*>(digest), sizeof digest});
}

}  // namespace

bool lists_token(std::string_view value, std::string_view token)
{
    const auto parts = split(value, ',');
    return std::any_of(parts.begin(), parts.end(),
                       [&](std::string_view each) { return equal_ignoring_case(trimmed(each), token); });
}

bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names)
{
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view each) { return equal_ignoring_case(each, name); });
}

// With those that Connection names.
bool is_hop_by_hop(std::string_view name, std::string_view connection)
{
    return is_any_of(name, {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
                            "te", "trailer", "transfer-encoding", "upgrade", "content-length", "http2-settings"}) ||
           lists_token(connection, name);
}

bool wants_websocket(const http_request& request)
{
    return request.method == "GET" && request.version == 11 && request.count("upgrade") == 1 &&
           request.count("sec-websocket-key") == 1 && equal_ignoring_case(*request.header("upgrade"), "websocket") &&
           lists_token(request.header("connection").value_or(""), "upgrade") && !request.header("content-length") &&
           !request.header("transfer-encoding");
}

std::string_view relayed_value(const relayed_answer_head& from, http::field name)
{
    const auto value = from[name];
    return {value.data(), value.size()};
}

std::string status_line(const relayed_answer_head& from)
{
    std::string reason(from.reason().data(), from.reason().size());
    if (reason.empty()) {
        const auto usual = http::obsolete_reason(from.result());
        reason.assign(usual.data(), usual.size());
    }
    std::erase_if(reason, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    return "HTTP/1.1 " + std::to_string(from.result_int()) + " " + reason + "\r\n";
}

std::string head_of_switch(const relayed_answer_head& from, const http_request& request)
{
    const bool accepted =
        wants_websocket(request) && equal_ignoring_case(relayed_value(from, http::field::upgrade), "websocket") &&
        lists_token(relayed_value(from, http::field::connection), "upgrade") &&
        from.count(http::field::sec_websocket_accept) == 1 &&
        relayed_value(from, http::field::sec_websocket_accept) == expected_accept(*request.header("sec-websocket-key"));
    if (!accepted) return {};
    std::string head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
    for (const auto name : {http::field::sec_websocket_accept, http::field::sec_websocket_protocol,
                            http::field::sec_websocket_extensions})
        for (auto range = from.equal_range(name); range.first != range.second; ++range.first) {
            const auto called = range.first->name_string();
            const auto value = range.first->value();
            append_field(head, {called.data(), called.size()}, {value.data(), value.size()});
        }
    return head;
}

}  // namespace cmcp
