#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace cmcp {

/// A stream of bytes up to a mark, which may come in pieces. The mark is dropped. The mark with another last byte,
/// `pause_byte`, is a place at which the stream waits.
class marked_stream {
public:
    static constexpr char pause_byte = '\x1d';

    void expect(std::string mark) { mark_ = std::move(mark); }

    /// The bytes that are sure to stand before the mark, and before the place to wait at.
    std::string put(std::string_view bytes);

    /// The bytes behind the mark that came so far, once.
    std::string behind() { return std::exchange(behind_, {}); }

    bool paused() const { return paused_; }

    /// Goes on behind the place; put() gives the bytes.
    void go_on() { paused_ = false; }

    /// The bytes that put() returned have been passed on.
    void delivered() { ended_ = found_; }
    bool ended() const { return ended_; }

private:
    std::string mark_;
    std::string held_;
    std::string behind_;
    bool found_ = false;
    bool paused_ = false;
    bool ended_ = false;
};

}  // namespace cmcp
