#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp::load {

/// The fields of an answer's header that the client uses.
struct response_head {
    int status = 0;
    bool events = false;    ///< Content-Type: text/event-stream
    bool close = false;     ///< the server ends the connection after it
    std::string session;    ///< Mcp-Session-Id
    std::string served_by;  ///< X-Served-By, in which a proxy names the server
};

/// Reads the HTTP/1.1 answers of one connection in order, from pieces of any size, without I/O. A handler may call
/// reset().
class response_parser {
public:
    struct handlers {
        std::function<void(const response_head&)> head;
        std::function<void(std::string_view)> body;  ///< a piece; the view ends with the call
        std::function<void()> end;
    };

    explicit response_parser(handlers to) : to_(std::move(to)) { reset(); }

    /// Returns false when the bytes are not HTTP/1.1; the connection is then useless.
    bool feed(std::string_view bytes);
    bool closed();  ///< the connection ended; false when it did so amid an answer
    void reset();   ///< for a new connection

private:
    struct answer;

    bool hand_over();

    handlers to_;
    std::shared_ptr<answer> answer_;
    std::string unread_;  // the beginning of a header or of a chunk's
};

}  // namespace cmcp::load
