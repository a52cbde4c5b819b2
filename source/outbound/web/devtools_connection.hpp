#pragma once

#include "async/asio.hpp"
#include "async/blocking_pool.hpp"
#include "async/sliced_work.hpp"
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
#include <vector>

namespace cmcp {

/// The stream to the browser ended: it crashed, was stopped, or sent an invalid message.
struct devtools_closed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Of a message: arrays, objects and commas. What the server asks pages for is a few long texts.
inline constexpr std::size_t most_devtools_values = 50'000;

/// Parses messages, each ended by a NUL byte. Half surrogate pairs, which pages can make and JSON parsers refuse,
/// become U+FFFD. The work throws devtools_closed when a message is no JSON object, too deep, or of too many values.
sliced_work<std::vector<json::object>> parse_devtools(std::string messages);

/// The browser refused a command; what() is its message.
struct devtools_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The conversation with one browser in the Chrome DevTools protocol, as --remote-debugging-pipe carries it: JSON, each
/// message ended by a NUL byte. Commands and their answers, events by session ("flat" sessions; the empty one is
/// the browser itself). Io thread only; owned by shared_ptr, because answers outlive their calls. Long messages are
/// parsed on the pool, and other work has its turn between messages that come in a row. Of an event whose length a page
/// chooses, such as what it writes to its console, no more than a bound is read; a longer one comes as unread_event of
/// its session.
class devtools_connection : public std::enable_shared_from_this<devtools_connection> {
public:
    using stream = asio::local::stream_protocol::socket;
    using event_handler = std::function<void(const std::string& method, const json::object& params)>;

    /// The pool must outlive this; `principal`: who is charged there. `longest`: bytes of a message: a screenshot in
    /// base64, or a page's text with its escapes.
    devtools_connection(stream socket, blocking_pool& pool, std::string principal, std::size_t longest = 48u << 20);

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

    const std::string& closed_because() const { return closed_because_; }

    /// Ends the conversation: every call that waits throws devtools_closed with `why`.
    void close(const std::string& why);

private:
    struct pending_call;
    struct pending_call_guard;

    std::uint64_t post(const std::string& session, std::string_view method, json::object params);
    void flush();
    awaitable<std::string> read_messages();          ///< at least one, whole; empty: the stream ended
    std::string take_bytes(std::string_view bytes);  ///< the messages that are whole by them
    awaitable<std::vector<json::object>> parse(std::string text);
    awaitable<> take_all(std::vector<json::object> messages);
    void take(json::object message);
    void answer(json::object& message);
    void deliver(json::object& message);

    stream socket_;
    blocking_pool& pool_;
    std::string principal_;
    std::size_t longest_;
    std::vector<char> read_;    // as it came
    std::string held_;          // of a message that is not whole yet
    bool passes_over_ = false;  // that message is too long an event: held_ is its end so far
    std::string closed_because_ = "the browser is not running";
    std::map<std::uint64_t, std::shared_ptr<pending_call>> pending_calls_;
    std::map<std::string, event_handler> handlers_;
    std::deque<std::string> outbox_;
    std::uint64_t last_id_ = 0;
    bool writing_ = false;
};

}  // namespace cmcp
