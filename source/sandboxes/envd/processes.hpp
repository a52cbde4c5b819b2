#pragma once

#include "envd/connection.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::envd {

/// Messages of a stream to one peer. A peer that does not read holds its source back.
struct subscription {
    explicit subscription(asio::any_io_executor executor) : changed(std::move(executor)) {}

    std::deque<std::shared_ptr<const std::string>> messages;
    std::size_t bytes = 0;
    bool over = false;  ///< nothing follows, or nobody reads any more
    bool gone = false;  ///< the peer has left
    bool late = false;  ///< its time is over, which the peer is told as an error of Connect
    signal changed;
};

/// Sends what is subscribed as a Connect stream, with keepalives, until it is over or the peer has gone.
awaitable<> send_stream(connection& to, std::shared_ptr<subscription> from, json::value first, json::value keepalive);

connection::fields stream_fields();

/// One message in Connect's frame. `flags`: 2 for the last.
std::string framed(std::string_view message, char flags = 0);

/// E2B's process.Process.
class processes {
public:
    explicit processes(asio::any_io_executor executor);

    awaitable<> start(connection& by, json::object wish);
    awaitable<> connect(connection& by, const json::object& wish);
    json::object list() const;
    awaitable<json::object> send_input(json::object wish);
    awaitable<json::object> send_signal(json::object wish);
    json::object update(const json::object& wish);
    json::object close_input(const json::object& wish);

    /// For sudo, which names its process, its folder and its arguments: runs it anew as root with the streams that it
    /// has. The answer is the exit status, and the program ends with the connection.
    awaitable<> run_as_root(connection& by);

private:
    struct process;
    using process_ptr = std::shared_ptr<process>;

    process_ptr find(const json::object& wish) const;
    process_ptr launch(const json::object& wish, const account& by);
    awaitable<> follow(connection& by, process_ptr one);
    awaitable<> look_after(process_ptr one);
    awaitable<> pump(process_ptr one, asio::posix::stream_descriptor& from, std::string name);
    awaitable<> kill_in_time(process_ptr one, std::shared_ptr<subscription> reader, std::chrono::milliseconds limit);
    void reap();
    void await_child();

    asio::any_io_executor executor_;
    asio::signal_set children_;
    std::map<int, process_ptr> all_;
};

}  // namespace cmcp::envd
