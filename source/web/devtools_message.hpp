#pragma once

#include "jsonrpc/json.hpp"

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

/// Messages of the Chrome DevTools protocol as --remote-debugging-pipe carries them: JSON, each ended by a NUL byte.
namespace cmcp {

/// The browser refused a command; what() is its message.
struct devtools_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The stream to the browser ended: it crashed, was stopped, or sent an invalid message.
struct devtools_closed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Cuts a stream into messages.
class devtools_splitter {
public:
    explicit devtools_splitter(std::size_t longest) : longest_(longest) {}

    /// Throws devtools_closed when a message is longer than `longest`.
    void add(std::string_view bytes);

    /// The next whole message.
    std::optional<std::string> next();

private:
    std::size_t longest_;
    std::string held_;
    std::size_t begin_ = 0;  // of the message that comes next
    std::size_t seen_ = 0;   // up to here there is no NUL
};

/// Parses a message. Half surrogate pairs, which pages can make and JSON parsers refuse, become U+FFFD. Throws
/// devtools_closed when it is no JSON object.
json::object parse_devtools(std::string text);

}  // namespace cmcp
