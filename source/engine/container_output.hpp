#pragma once

#include "sandbox/output_receiver.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cmcp::engine {

/// Takes a container's output apart: frames of {stream: 1 byte (1 out, 2 err), 3 zero bytes, size: 4 bytes, big endian}
/// and their bytes (Engine API, "Attach to a container", stream format). No size is trusted: nothing is kept but the
/// head.
class output_frames {
public:
    using piece = std::pair<sandbox::stream, std::string_view>;

    /// The next piece of output in `bytes`, which is taken off it; nothing when `bytes` is used up. The piece is a part
    /// of `bytes`. Throws engine_error on what is no frame.
    std::optional<piece> next(std::string_view& bytes);

    bool between_frames() const { return head_size_ == 0 && left_ == 0; }

private:
    void read_head();

    unsigned char head_[8] = {};
    std::size_t head_size_ = 0;
    std::uint32_t left_ = 0;
    sandbox::stream stream_ = sandbox::stream::out;
};

/// The end of a run, written by the shell of its container. Code inside can write a report, too, so a report only tells
/// the caller about its own run and decides nothing else.
struct container_report {
    std::optional<int> code;  ///< nothing: the shell did not live to write it
    std::string lacks;        ///< the layer for whose lack nothing was started; empty: it was
    bool out_of_memory = false;
    bool out_of_processes = false;
    std::uint64_t peak_memory = 0;  ///< bytes; 0: unknown
    std::chrono::microseconds cpu{0};
};

container_report read_report(std::string_view text);

}  // namespace cmcp::engine
