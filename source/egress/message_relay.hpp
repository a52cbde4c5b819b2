#pragma once

#include "async/asio.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include <string>
#include <vector>

namespace cmcp {

/// Takes out what is meant for one connection only (RFC 9110 section 7.6.1), and what a proxy must not pass on.
template <class Message>
void erase_hop_by_hop(Message& message)
{
    const std::string named(message[boost::beast::http::field::connection]);
    for (const auto token : boost::beast::http::token_list(named)) message.erase(token);
    using boost::beast::http::field;
    for (const auto name : {field::connection, field::proxy_connection, field::keep_alive, field::proxy_authorization,
                            field::proxy_authenticate, field::te, field::upgrade, field::expect})
        message.erase(name);
}

inline bool ok_or_more(boost::system::error_code failure)
{
    return !failure || failure == boost::beast::http::error::need_buffer;
}

/// Sends the message whose header `parser` has read, its body piece by piece as it comes in. `count` is told the bytes
/// sent and ends the relay by false. True: the whole message was passed on.
template <bool isRequest, class Parser, class Count>
awaitable<bool> pass_on(asio::ip::tcp::socket& from, boost::beast::flat_buffer& buffer, Parser& parser,
                        asio::ip::tcp::socket& to, std::vector<char>& piece, Count& count)
{
    namespace http = boost::beast::http;
    http::serializer<isRequest, http::buffer_body> serializer(parser.get());
    auto& body = parser.get().body();
    for (bool header = true; header || !parser.is_done() || !serializer.is_done(); header = false) {
        body.data = nullptr;
        body.size = 0;
        if (!header && !parser.is_done()) {
            body.data = piece.data();
            body.size = piece.size();
            auto [failure, got] = co_await http::async_read_some(from, buffer, parser, as_tuple);
            if (!ok_or_more(failure)) co_return false;
            body.size = piece.size() - body.size;
            body.data = piece.data();
        }
        body.more = !parser.is_done();
        if (!header && body.more && body.size == 0) continue;
        if (body.size == 0) body.data = nullptr;  // a piece of no bytes would be a chunk of its own
        auto [failure, sent] = co_await http::async_write(to, serializer, as_tuple);
        if (!ok_or_more(failure) || !count(sent)) co_return false;
        if (serializer.is_done()) break;
    }
    co_return parser.is_done();
}

}  // namespace cmcp
