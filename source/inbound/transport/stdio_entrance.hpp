#pragma once

#include "async/task_group.hpp"
#include "http/bound_address.hpp"
#include "http/listener.hpp"
#include "mcp/server_core.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

struct http_settings;

/// The UNIX socket at which `container-mcp stdio` hands its client to the server that runs already. Each connection is
/// a client of its own, as on standard input. It begins with a line that says which tools it is to be shown and is
/// answered by a line; then both sides send messages, one a line.
class stdio_entrance {
public:
    /// `command`: of the server, as in stdio_welcome.
    stdio_entrance(asio::io_context& io, bound_address place, server_core& core, const http_settings& config,
                   std::string command);
    stdio_entrance(const stdio_entrance&) = delete;
    stdio_entrance& operator=(const stdio_entrance&) = delete;
    ~stdio_entrance();

    void start();

    /// No client comes in any more, and what those that are here send is not read; their requests are answered.
    void stop();
    awaitable<> ended(std::chrono::milliseconds limit);  ///< after stop()

private:
    void take(stream_socket socket);
    static awaitable<> serve(stdio_entrance& by, unique_fd socket);

    server_core& core_;
    const http_settings& config_;
    std::string command_;
    listener listens_;
    task_group listening_;
    task_group clients_;
    bool stopped_ = false;
};

/// The first line of a connection, and the line that answers it.
struct stdio_greeting {
    std::string profile;  ///< of tools; empty: the server's own choice

    std::string text() const;
    static std::optional<stdio_greeting> read(std::string_view line);
};
struct stdio_welcome {
    std::string refusal;  ///< a sentence; empty: messages may come
    std::string profile;  ///< that counts; empty where the server has none of that name
    std::string server;   ///< its command: serve, which may be started again when it ends, or stdio
    std::int64_t process = 0;
    std::size_t longest_line = 0;  ///< that the server takes

    std::string text() const;
    static std::optional<stdio_welcome> read(std::string_view line);
};

}  // namespace cmcp
