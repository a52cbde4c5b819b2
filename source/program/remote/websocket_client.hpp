#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "remote/websocket_frames.hpp"
#include "streams/http_connection.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::command {

/// A WebSocket whose handshake is over. One coroutine may read; sending never waits. Io thread only.
class websocket_client {
public:
    using message = websocket_frames::message;

    explicit websocket_client(std::unique_ptr<http_connection> connection);
    websocket_client(const websocket_client&) = delete;
    websocket_client& operator=(const websocket_client&) = delete;
    ~websocket_client();

    /// A text, bytes, or the close, behind which nothing comes; pings are answered. Throws std::runtime_error where the
    /// server is gone without a close, or breaks the protocol.
    awaitable<message> read();

    void send(std::string_view bytes);
    void order(std::string_view text);  ///< as a text message

    void close();  ///< tells the server that this is the end; its answer is a close, for read()
    void abort();  ///< without a word; read() throws

private:
    struct state;
    static awaitable<> write_all(std::shared_ptr<state> of);
    void put(std::string frame);

    std::shared_ptr<state> state_;
    task_group tasks_;
};

}  // namespace cmcp::command
