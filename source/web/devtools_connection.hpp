#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"

#include <boost/asio/local/stream_protocol.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cmcp {

/// The browser refused a command; what() is its message.
struct devtools_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The stream to the browser ended: it crashed, was stopped, or sent an invalid message.
struct devtools_closed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Parses a message. Half surrogate pairs, which pages can make and JSON parsers refuse, become U+FFFD. Throws
/// devtools_closed when it is no JSON object.
json::object parse_devtools(std::string text);

/// The conversation with one browser in the Chrome DevTools protocol, as --remote-debugging-pipe carries it: JSON, each
/// message ended by a NUL byte. Commands and their answers, events by session ("flat" sessions; the empty one is
/// the browser itself). Io thread only; kept by shared_ptr, because answers outlive their calls.
class devtools_connection : public std::enable_shared_from_this<devtools_connection> {
public:
    using stream = asio::local::stream_protocol::socket;
    using event_handler = std::function<void(const std::string& method, const json::object& params)>;

    /// `longest`: bytes of a message: a screenshot in base64, or a page's text with its escapes.
    explicit devtools_connection(stream socket, std::size_t longest = 48u << 20);

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
    std::size_t longest_;
    std::string closed_because_ = "the browser is not running";
    std::map<std::uint64_t, std::shared_ptr<question>> questions_;
    std::map<std::string, event_handler> handlers_;
    std::deque<std::string> outbox_;
    std::uint64_t last_id_ = 0;
    bool writing_ = false;
};

}  // namespace cmcp
