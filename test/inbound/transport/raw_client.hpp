#pragma once

#include "jsonrpc/json.hpp"
#include "posix/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace cmcp::test {

struct raw_response {
    int status = 0;                             ///< 0: the connection ended before a whole header
    std::map<std::string, std::string> fields;  ///< names in lower case
    std::string body;

    json::value parsed() const { return json::parse(body); }
    std::string field(const std::string& name) const;
};

struct raw_event {
    bool ended = false;  ///< the stream ended properly before another event
    std::string id;
    std::string name;
    std::string data;
    std::string retry;

    json::value parsed() const { return json::parse(data); }
};

/// A blocking client that sends its bytes unchanged. A wait that takes too long throws.
class raw_client {
public:
    explicit raw_client(std::uint16_t port, int receive_buffer = 0);

    void send(std::string_view bytes);  ///< a peer that has closed is not an error
    raw_response read();                ///< one response with its whole body
    raw_response read_head();           ///< for a stream: read_event() gives what follows
    raw_event read_event();             ///< comments are passed over
    std::string read_comment();         ///< the next comment line
    bool closed();                      ///< waits for the end of input; false when bytes come instead
    void close() { fd_.reset(); }

    raw_response request(std::string_view bytes)
    {
        send(bytes);
        return read();
    }

private:
    bool fill();
    std::string line();
    std::string take(std::size_t size);
    bool next_stream_line(std::string& into);

    unique_fd fd_;
    std::string buffer_;
    std::string stream_;
    bool chunked_ = false;
    bool stream_over_ = false;
};

/// "POST path HTTP/1.1" with Host, Content-Type, Accept and Content-Length; `extra` are whole lines with CRLF.
std::string post(std::string_view path, std::string_view body, std::string_view extra = {});
std::string get(std::string_view path, std::string_view extra = {});

}  // namespace cmcp::test
