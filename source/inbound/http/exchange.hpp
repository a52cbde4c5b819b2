#pragma once

#include "http/client_socket.hpp"
#include "http/http_reply.hpp"
#include "http/http_request.hpp"
#include "http/login_holds.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

class request_guard;

/// The body of a streamed answer whose head is out: in chunks, or bare for HTTP/1.0. The body may outlive the request,
/// not the connection.
class stream_body {
public:
    stream_body(client_socket& peer, bool chunked) : peer_(&peer), chunked_(chunked) {}

    /// Each returns false when the peer is gone. `data` is not empty.
    awaitable<bool> write(std::string_view data);
    awaitable<bool> end();

    void watch(std::function<void()> on_gone) { peer_->watch(std::move(on_gone)); }
    bool gone() const { return peer_->gone(); }

private:
    client_socket* peer_;
    bool chunked_;
};

/// A request and the way to answer it: a whole reply, or a stream in chunks. Lives on its connection.
class exchange {
public:
    using fields = std::vector<std::pair<std::string, std::string>>;

    exchange(client_socket& peer, http_request& request, const request_guard& guard, login_holds::hold& login)
        : peer_(peer), request_(request), guard_(guard), login_(login), close_(!request.keep_alive)
    {
    }

    http_request& request() { return request_; }
    asio::any_io_executor executor() { return peer_.executor(); }

    awaitable<> reply(http_reply answer);

    /// Each returns false when the peer is gone.
    awaitable<bool> begin_stream(std::string_view content_type, fields extra, std::string first);
    stream_body body() { return {peer_, chunked()}; }

    /// An answer whose length is known and whose body comes piece by piece: exactly `length` bytes by write_body().
    awaitable<bool> begin_sized(int status, std::string_view content_type, fields extra, std::uint64_t length);
    awaitable<bool> write_body(std::string_view data);

    /// An answer of a server behind this one: status line and fields, without framing and the empty line. With a
    /// body of known length write_body() follows, with another one body(). 101 ends the request's use of HTTP.
    awaitable<bool> begin_relayed(int status, std::string head, std::optional<std::uint64_t> length, bool has_body);
    client_socket& peer() { return peer_; }
    bool has_own_token() const;  ///< Authorization is for this server

    /// After begin_stream(): the rest of the stream, which the connection awaits when the request and all that its
    /// route holds are gone, because the rest may last for hours. Its result: whether the stream has ended as it
    /// should.
    void go_on_with(awaitable<bool> rest);
    awaitable<bool> take_rest() { return std::move(rest_); }

    /// The connection itself, for another protocol (101): nothing is answered here any more. It ends with `login`.
    client_stream take_over(login_holds::hold& login);

    void watch(std::function<void()> on_gone) { peer_.watch(std::move(on_gone)); }
    void unwatch() { peer_.unwatch(); }
    bool gone() const { return peer_.gone(); }

    int status() const { return status_; }       ///< sent; 0: nothing yet
    bool streamed() const { return streamed_; }  ///< the answer is a stream
    bool can_go_on() const { return !close_ && owed_ == 0 && status_ != 0 && !peer_.gone(); }
    void close_after() { close_ = true; }

private:
    bool chunked() const { return request_.version >= 11; }
    void append_of_server(std::string& head) const;
    std::string head(int status, const fields& extra, std::string_view type, std::string_view framing,
                     std::string_view value);

    client_socket& peer_;
    http_request& request_;
    const request_guard& guard_;
    login_holds::hold& login_;
    int status_ = 0;
    bool streamed_ = false;
    bool close_ = false;
    std::uint64_t owed_ = 0;  // of a sized answer
    awaitable<bool> rest_;
};

}  // namespace cmcp
