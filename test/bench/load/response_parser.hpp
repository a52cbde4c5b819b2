#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cmcp::load {

/// What is of interest of an answer's header.
struct response_head {
    int status = 0;
    bool events = false;  ///< Content-Type: text/event-stream
    bool close = false;   ///< the server ends the connection after it
    std::string session;  ///< Mcp-Session-Id
};

/// Reads the HTTP/1.1 answers of one connection, one after another, in whatever pieces they come. Pure.
class response_parser {
public:
    struct handlers {
        std::function<void(const response_head&)> head;
        std::function<void(std::string_view)> body;  ///< a piece; the view ends with the call
        std::function<void()> end;
    };

    explicit response_parser(handlers to) : to_(std::move(to)) {}

    /// False when the bytes are not HTTP/1.1: nothing more can be read from this connection.
    bool feed(std::string_view bytes);
    bool closed();  ///< the connection ended; false when it did so amid an answer
    void reset();   ///< for a new connection

private:
    enum class place { head, sized_body, chunk_size, chunk, chunk_end, trailer, until_close };

    bool take_line(std::string_view& bytes, std::string_view& line);
    bool head_line(std::string_view line);
    bool field_line(std::string_view line);
    bool begin_body();
    bool framing_line(std::string_view line);
    void take_body(std::string_view& bytes);
    void finish();

    handlers to_;
    response_head head_;
    std::string line_;
    std::uint64_t left_ = 0;
    place at_ = place::head;
    bool any_line_ = false;
    bool sized_ = false;
    bool chunked_ = false;
};

}  // namespace cmcp::load
