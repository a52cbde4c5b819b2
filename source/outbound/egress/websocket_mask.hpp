#pragma once

#include "egress/stream_mask.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp {

/// Masks the messages of a WebSocket as its server sends them (RFC 6455 section 5.2), without extensions. A form may
/// begin in one frame of a message and end in another one; headers and lengths of frames stay as they are. No I/O.
class websocket_mask {
public:
    /// Null: nothing is masked.
    explicit websocket_mask(std::shared_ptr<const secret_masks> masks) : masks_(masks), message_(std::move(masks)) {}

    std::string feed(std::string_view piece);  ///< all that is certain by now
    std::string finish();                      ///< the rest

    /// Why nothing more comes out; empty: nothing is wrong. The end of a sentence that begins with the server.
    const std::string& problem() const { return problem_; }

    bool is_masking() const { return masks_ != nullptr; }
    std::size_t held() const { return message_.held(); }  ///< bytes of the present message

private:
    /// Bytes of messages that the mask still holds, and what follows them as it is.
    struct part {
        std::size_t masked = 0;
        std::string plain;
    };

    std::size_t size_of_header() const;
    void begin_frame();
    void check_frame(unsigned first, unsigned second);
    std::size_t take_payload(std::string_view bytes);
    void end_frame();
    void put(std::string_view plain);
    void put_message(std::string_view bytes);
    std::string released();

    std::shared_ptr<const secret_masks> masks_;
    stream_mask message_;
    std::string header_;   // of the present frame, as far as it has come
    std::string control_;  // payload of the present control frame, likewise
    std::uint64_t left_ = 0;
    bool in_payload_ = false;
    bool is_control_ = false;
    bool is_last_ = false;
    bool in_message_ = false;
    std::string ready_;        // masked bytes of messages that are to go to their parts
    std::deque<part> parts_;   // in their order
    std::size_t waiting_ = 0;  // bytes of all `plain`
    std::string problem_;
};

}  // namespace cmcp
