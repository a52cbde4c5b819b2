#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::command {

/// The frames of a WebSocket (RFC 6455 section 5) as a client reads and writes them, without extensions and I/O.
/// Beast's are for its own kind of streams, which byte_stream is not, so that few files compile Beast's templates.
class websocket_frames {
public:
    static constexpr std::size_t longest_message = 1 << 20;

    enum class kind : unsigned char { text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

    struct message {
        kind is = kind::binary;
        std::string bytes{};     ///< of a close: its reason
        std::uint16_t code = 0;  ///< of a close; 1005: it says none
    };

    /// A frame with a whole message, under a random mask.
    static std::string frame(kind is, std::string_view bytes);
    static std::string close_frame(std::uint16_t code);

    /// The answer that the server's handshake must have for this key (section 4.2.2).
    static std::string accept_for(std::string_view key);

    void feed(std::string_view bytes) { held_ += bytes; }

    /// The next whole message; nothing: more bytes are needed. Throws std::runtime_error with a sentence where the
    /// server breaks the protocol.
    std::optional<message> next();

private:
    struct header {
        unsigned first = 0;
        std::size_t size = 0;  // of the header
        std::uint64_t length = 0;
    };
    std::optional<header> read_header() const;
    std::optional<message> take(const header& of);

    std::string held_;
    std::string partial_;  // of a message in several frames
    std::optional<kind> kind_of_partial_;
};

}  // namespace cmcp::command
