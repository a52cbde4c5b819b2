#pragma once

#include "async/asio.hpp"
#include "web/devtools_message.hpp"

#include <boost/asio/local/stream_protocol.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace cmcp {

/// The conversation with one browser: commands and their answers, events by session ("flat" sessions; the empty one is
/// the browser itself). Io thread only; kept by shared_ptr, because answers outlive their calls.
class devtools_connection : public std::enable_shared_from_this<devtools_connection> {
public:
    using stream = asio::local::stream_protocol::socket;
    using event_handler = std::function<void(const std::string& method, const json::object& params)>;

    explicit devtools_connection(stream socket);

    /// Reads until the stream ends or close() is called. Calls go on waiting after the end of the stream, until close()
    /// gives them its reason.
    awaitable<> run();

    /// Sends a command and waits for its result. Throws devtools_error, devtools_closed, or operation_aborted.
    awaitable<json::object> call(std::string session, std::string method, json::object params);

    /// Sends a command without waiting for its answer.
    void send(const std::string& session, std::string_view method, json::object params);

    /// `handler` hears the events of `session` until ignore(). It must not throw. It is called
    /// once more, with an empty method, when the conversation ends.
    void listen(const std::string& session, event_handler handler);
    void ignore(const std::string& session);

    /// The session's page is gone, so its calls that wait throw devtools_error with `why`.
    void abandon(const std::string& session, const std::string& why);

    asio::any_io_executor executor() { return socket_.get_executor(); }
    bool open() const { return socket_.is_open(); }

    /// Ends the conversation: every call that waits throws devtools_closed with `why`.
    void close(const std::string& why);

private:
    struct question;
    struct waiting_place;

    std::uint64_t post(const std::string& session, std::string_view method, json::object params);
    void flush();
    void take(json::object message);
    void answer(const json::object& message);
    void deliver(json::object& message);

    stream socket_;
    std::string closed_because_ = "the browser is not running";
    std::map<std::uint64_t, std::shared_ptr<question>> questions_;
    std::map<std::string, event_handler> handlers_;
    std::deque<std::string> outbox_;
    std::uint64_t last_id_ = 0;
    bool writing_ = false;
};

}  // namespace cmcp
