#pragma once

#include "async/asio.hpp"
#include "streams/http_wire.hpp"
#include "text/ascii.hpp"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/verb.hpp>

#include <string>
#include <vector>

namespace cmcp {

/// Why there is no answer of the host, for its client.
std::string bad_answer_sentence(const std::string& name, boost::system::error_code failure);

/// The header as it is sent (RFC 9112 section 2.1), with the empty line.
std::string header_text(const boost::beast::http::response_header<>& head);

/// The guard's own answer to a client, whole, after which the connection ends; X-Egress-Rule names the rule.
std::string guards_answer(unsigned status, const std::string& rule, const std::string& sentence);

/// Takes out the fields for one connection only (RFC 9110 section 7.6.1), and those that a proxy must not pass on.
template <class Message>
void erase_hop_by_hop(Message& message)
{
    namespace http = boost::beast::http;
    const std::string named(message[http::field::connection]);
    using http::field;
    for (const auto token : http::token_list(named)) {
        const auto name = http::string_to_field(token);  // the body is passed on, so what frames it is, too
        if (name != field::content_length && name != field::transfer_encoding) message.erase(token);
    }
    for (const auto name : {field::connection, field::proxy_connection, field::keep_alive, field::proxy_authorization,
                            field::proxy_authenticate, field::te, field::upgrade, field::expect})
        message.erase(name);
}

/// The fields of a message that begins a WebSocket (RFC 6455 section 4.1).
template <class Message>
void keep_upgrade(Message& message)
{
    message.set(boost::beast::http::field::upgrade, "websocket");
    message.set(boost::beast::http::field::connection, "Upgrade");
}

/// RFC 6455 section 4.1. Only a request without a body, because its end would be read as the new protocol's begin.
template <class Parser>
bool begins_websocket(const Parser& parser)
{
    namespace http = boost::beast::http;
    const auto& request = parser.get();
    const std::string connection(request[http::field::connection]);
    return parser.is_done() && request.method() == http::verb::get &&
           equal_ignoring_case(request[http::field::upgrade], "websocket") &&
           http::token_list(connection).exists("upgrade");
}

inline bool ok_or_more(boost::system::error_code failure)
{
    return !failure || failure == boost::beast::http::error::need_buffer;
}

/// Sends the message whose header `parser` has read, its body piece by piece as it comes in. `count` gets the bytes
/// sent and ends the relay by false. True: the whole message was passed on.
template <bool isRequest, class Parser, class Count>
awaitable<bool> pass_on(byte_stream& from, boost::beast::flat_buffer& buffer, Parser& parser, byte_stream& to,
                        Count& count)
{
    namespace http = boost::beast::http;
    http::serializer<isRequest, http::buffer_body> serializer(parser.get());
    auto& body = parser.get().body();
    constexpr std::size_t piece_bytes = 64 * 1024;
    std::vector<char> piece(parser.is_done() ? 0 : piece_bytes);
    if (!parser.is_done()) buffer.reserve(piece_bytes);  // Beast reads as much at once as there is room for
    for (bool header = true; header || !parser.is_done() || !serializer.is_done(); header = false) {
        body.data = nullptr;
        body.size = 0;
        if (!header && !parser.is_done()) {
            body.data = piece.data();
            body.size = piece.size();
            const auto failure = co_await read_some(from, buffer, parser);
            if (!ok_or_more(failure)) co_return false;
            body.size = piece.size() - body.size;
            body.data = piece.data();
        }
        body.more = !parser.is_done();
        if (!header && body.more && body.size == 0) continue;
        if (body.size == 0) body.data = nullptr;  // a piece of no bytes would be a chunk of its own
        const auto sent = co_await write_message(to, serializer);
        if (!ok_or_more(sent.failure) || !count(sent.size)) co_return false;
        if (serializer.is_done()) break;
    }
    co_return parser.is_done();
}

}  // namespace cmcp
