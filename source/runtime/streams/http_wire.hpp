#pragma once

#include "streams/byte_stream.hpp"

#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/serializer.hpp>

#include <utility>
#include <vector>

namespace cmcp {

// HTTP/1 over a byte_stream: Beast parses and serializes, and its asynchronous operations, which compile anew for each
// kind of stream, message and handler, are not used. The errors are theirs (beast/http/error.hpp). `buffer` has what
// was read beyond the message, before and after.

/// Until the header is whole, or an error: end_of_stream where nothing came before the end.
awaitable<boost::system::error_code> read_header(byte_stream& from, boost::beast::flat_buffer& buffer,
                                                 boost::beast::http::basic_parser<false>& into);
awaitable<boost::system::error_code> read_header(byte_stream& from, boost::beast::flat_buffer& buffer,
                                                 boost::beast::http::basic_parser<true>& into);

/// At least one step of the message; need_buffer where the room of a buffer_body is full.
awaitable<boost::system::error_code> read_some(byte_stream& from, boost::beast::flat_buffer& buffer,
                                               boost::beast::http::basic_parser<false>& into);
awaitable<boost::system::error_code> read_some(byte_stream& from, boost::beast::flat_buffer& buffer,
                                               boost::beast::http::basic_parser<true>& into);

/// The whole message.
awaitable<boost::system::error_code> read_message(byte_stream& from, boost::beast::flat_buffer& buffer,
                                                  boost::beast::http::basic_parser<false>& into);

/// What the serializer gives until the message, or with `header_alone` its header, has gone out; need_buffer where a
/// buffer_body has no more for now. `size`: bytes that went out.
template <bool isRequest, class Body>
awaitable<byte_stream::transfer> write_message(byte_stream& to, boost::beast::http::serializer<isRequest, Body>& from,
                                               bool header_alone = false)
{
    byte_stream::transfer all;
    from.split(header_alone);
    const auto is_done = [&] { return header_alone ? from.is_header_done() : from.is_done(); };
    while (!is_done() && !all.failure) {
        std::vector<asio::const_buffer> pieces;
        const auto gather = [&](boost::system::error_code& failure, const auto& buffers) {
            failure = {};
            for (const asio::const_buffer each : boost::beast::buffers_range_ref(buffers)) pieces.push_back(each);
        };
        from.next(all.failure, gather);
        if (all.failure) break;
        const auto sent = co_await to.write(std::move(pieces));
        all.failure = sent.failure;
        all.size += sent.size;
        from.consume(sent.size);
    }
    co_return all;
}

}  // namespace cmcp
