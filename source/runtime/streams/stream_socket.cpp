#include "streams/stream_socket.hpp"

#include "async/with_deadline.hpp"

#include <boost/beast/core/error.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace cmcp {

using boost::system::error_code;

namespace {

awaitable<error_code> connected(stream_socket& socket, stream_socket::endpoint_type to)
{
    const auto [failure] = co_await socket.async_connect(to, as_tuple);
    co_return failure;
}

}  // namespace

awaitable<error_code> connect_within(stream_socket& socket, stream_socket::endpoint_type to,
                                     std::chrono::milliseconds limit)
{
    try {
        auto attempt = connected(socket, std::move(to));
        const auto failure = co_await with_deadline(std::move(attempt), limit);
        co_return failure;
    } catch (const deadline_exceeded&) {
        co_return error_code(boost::beast::error::timeout);
    }
}

bool is_quiet(stream_socket& socket)
{
    char byte = 0;
    const auto seen = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return seen < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace cmcp
