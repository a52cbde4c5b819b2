#include "streams/http_wire.hpp"

#include <boost/asio/error.hpp>
#include <boost/beast/core/read_size.hpp>
#include <boost/beast/http/error.hpp>

namespace cmcp {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t most_at_once = 64 * 1024;

// One step of the parser with what is in the buffer; the bytes it takes are gone from there.
template <bool isRequest>
error_code parse(beast::flat_buffer& buffer, http::basic_parser<isRequest>& into)
{
    error_code failure;
    if (buffer.size() == 0) return http::error::need_more;
    const auto used = into.put(buffer.data(), failure);
    buffer.consume(used);
    return failure;
}

// The end of the connection is the end of a body without a length.
template <bool isRequest>
error_code end_of(http::basic_parser<isRequest>& into)
{
    if (!into.got_some()) return http::error::end_of_stream;
    error_code failure;
    into.put_eof(failure);
    return failure;
}

template <bool isRequest>
awaitable<error_code> step(byte_stream& from, beast::flat_buffer& buffer, http::basic_parser<isRequest>& into)
{
    into.eager(false);
    auto failure = parse(buffer, into);
    while (failure == http::error::need_more) {
        const auto room = beast::read_size(buffer, most_at_once);
        if (room == 0) co_return error_code(http::error::buffer_overflow);
        const auto space = buffer.prepare(room);
        const auto got = co_await from.read_some(space);
        buffer.commit(got.size);
        if (got.failure == asio::error::eof) co_return end_of(into);
        if (got.failure) co_return got.failure;
        failure = parse(buffer, into);
    }
    co_return failure;
}

template <bool isRequest>
awaitable<error_code> header(byte_stream& from, beast::flat_buffer& buffer, http::basic_parser<isRequest>& into)
{
    error_code failure;
    while (!failure && !into.is_header_done()) failure = co_await step(from, buffer, into);
    co_return failure;
}

}  // namespace

awaitable<error_code> read_header(byte_stream& from, beast::flat_buffer& buffer, http::basic_parser<false>& into)
{
    return header(from, buffer, into);
}

awaitable<error_code> read_header(byte_stream& from, beast::flat_buffer& buffer, http::basic_parser<true>& into)
{
    return header(from, buffer, into);
}

awaitable<error_code> read_some(byte_stream& from, beast::flat_buffer& buffer, http::basic_parser<false>& into)
{
    return step(from, buffer, into);
}

awaitable<error_code> read_some(byte_stream& from, beast::flat_buffer& buffer, http::basic_parser<true>& into)
{
    return step(from, buffer, into);
}

awaitable<error_code> read_message(byte_stream& from, beast::flat_buffer& buffer, http::basic_parser<false>& into)
{
    error_code failure;
    while (!failure && !into.is_done()) failure = co_await step(from, buffer, into);
    co_return failure;
}

}  // namespace cmcp
