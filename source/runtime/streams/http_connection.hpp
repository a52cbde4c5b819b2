#pragma once

#include "streams/byte_stream.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

namespace cmcp {

/// A connection to a server of HTTP/1.1, for one request at a time. The operations give error codes, those of http_wire
/// and byte_stream.
class http_connection {
public:
    using request = boost::beast::http::request<boost::beast::http::string_body>;
    using parser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;
    using whole_parser = boost::beast::http::response_parser<boost::beast::http::string_body>;

    explicit http_connection(stream_socket&& socket);
    http_connection(stream_socket& socket, std::shared_ptr<void> owner);  ///< `socket` is a part of `owner`

    byte_stream& stream() { return stream_; }
    boost::beast::flat_buffer& buffer() { return buffer_; }  ///< read beyond the last message

    /// The whole answer, where it is short enough for the parser's limits.
    awaitable<boost::system::error_code> ask(const request& message, whole_parser& answer);

    awaitable<boost::system::error_code> write(const request& message);
    awaitable<boost::system::error_code> read_header(parser& into);

    /// A piece of the body, which is in `room` then: `size` bytes of it, even where the connection failed after it.
    awaitable<byte_stream::transfer> read_body(parser& from, asio::mutable_buffer room);

    /// No byte and no end has come since the last answer, so that another request may go out.
    bool may_go_on() { return buffer_.size() == 0 && is_quiet(stream_.socket()); }

    bool used_before = false;  ///< an answer has come over it

private:
    std::shared_ptr<void> owner_;
    byte_stream stream_;
    boost::beast::flat_buffer buffer_;
};

/// Connections that wait for another request, the oldest first. Those that wait for `longest`, and the oldest beyond
/// `most`, are closed. Io thread only.
class idle_connections : public std::enable_shared_from_this<idle_connections> {
public:
    idle_connections(const asio::any_io_executor& executor, std::size_t most, std::chrono::seconds longest);

    /// To the same server, and under the same `terms` (compared alone): the one that was used last, so that others may
    /// end. Null: none is open and quiet.
    std::unique_ptr<http_connection> take(const std::string& server, const void* terms = nullptr);

    /// After a whole answer. `terms` stays alive.
    void give_back(std::string server, std::unique_ptr<http_connection> connection,
                   std::shared_ptr<const void> terms = nullptr);
    void clear();
    void close_if(const std::function<bool(const std::string& server)>& is_left);

private:
    struct waiting {
        std::string server;
        std::shared_ptr<const void> terms;
        std::unique_ptr<http_connection> connection;
        std::chrono::steady_clock::time_point since;
    };
    void close_old();

    std::size_t most_;
    std::chrono::seconds longest_;
    std::list<waiting> waiting_;
    asio::steady_timer reaper_;
};

}  // namespace cmcp
