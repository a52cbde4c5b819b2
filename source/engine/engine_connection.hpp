#pragma once

#include "async/asio.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <string>

namespace cmcp::engine {

/// An answer of the engine.
struct engine_answer {
    int status = 0;
    std::string body;
};

/// A connection to an engine's Unix socket (HTTP/1.1), for one request or one stream of bytes.
/// Operations throw boost::system::system_error when the connection fails.
class engine_connection {
public:
    explicit engine_connection(asio::any_io_executor executor) : socket_(std::move(executor)) {}
    engine_connection(const engine_connection&) = delete;
    engine_connection& operator=(const engine_connection&) = delete;

    awaitable<> connect(std::string path);

    /// Sends a request with a JSON body (empty: none) and reads the whole answer, at most 16 MiB.
    awaitable<engine_answer> ask(std::string method, std::string target, std::string body);

    /// Asks for the connection itself: after an answer of 101 or 200 what follows is read by read_some(). Any other
    /// answer is read whole.
    awaitable<engine_answer> hijack(std::string target);

    /// The next bytes of the stream; empty at its end.
    awaitable<std::string> read_some();

    void close();

private:
    awaitable<> send(std::string method, std::string target, std::string body, bool upgrade);

    asio::local::stream_protocol::socket socket_;
    boost::beast::flat_buffer buffer_{64 * 1024};
};

}  // namespace cmcp::engine
