#pragma once

#include "async/asio.hpp"
#include "streams/stream_socket.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream_base.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace cmcp {

/// A connection as a stream of its bytes: a socket, or TLS over it. The templates of Asio and OpenSSL are behind it, in
/// one unit. One read and one write at a time. Operations give error codes: beast::error::timeout after the limit of
/// expires_after(), operation_aborted where the socket was closed or the coroutine cancelled. Io thread only.
class byte_stream {
public:
    struct transfer {
        boost::system::error_code failure{};
        std::size_t size = 0;
    };

    explicit byte_stream(stream_socket&& own);
    explicit byte_stream(stream_socket& of_another);  ///< which must outlive this
    byte_stream(const byte_stream&) = delete;
    byte_stream& operator=(const byte_stream&) = delete;
    ~byte_stream();

    stream_socket& socket() { return socket_; }

    /// From now on the bytes are those inside of TLS; the handshake comes next. For what a handshake needs beside the
    /// context, which must outlive this.
    SSL* begin_tls(boost::asio::ssl::context& context);
    SSL* tls() const;  ///< null: there is no TLS

    /// `received`: what the other side has sent already.
    awaitable<boost::system::error_code> handshake(boost::asio::ssl::stream_base::handshake_type as,
                                                   asio::const_buffer received = {});
    awaitable<boost::system::error_code> shut_down_tls();

    awaitable<transfer> read_some(asio::mutable_buffer into);
    awaitable<transfer> write(std::vector<asio::const_buffer> all);  ///< `size`: how many of the bytes went out
    awaitable<transfer> write(std::string_view all);

    /// Closes the socket where what begins from now on does not end within `limit`.
    void expires_after(std::chrono::milliseconds limit);
    void expires_never();
    void close();

private:
    class tls_layer;
    struct deadline;

    boost::system::error_code cause_of(boost::system::error_code failure) const;

    std::optional<stream_socket> own_;
    stream_socket& socket_;
    std::shared_ptr<deadline> deadline_;  // null: there never was a limit
    std::unique_ptr<tls_layer> tls_;
};

}  // namespace cmcp
