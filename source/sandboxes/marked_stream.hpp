#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// A stream of bytes up to a mark, which comes in any pieces and is not part of it. What follows the mark is dropped.
class marked_stream {
public:
    void expect(std::string mark) { mark_ = std::move(mark); }

    /// The bytes that are sure to stand before the mark.
    std::string put(std::string_view bytes);

    /// What put() returned has arrived where it goes.
    void delivered() { ended_ = found_; }
    bool ended() const { return ended_; }

private:
    std::string mark_;
    std::string held_;
    bool found_ = false;
    bool ended_ = false;
};

}  // namespace cmcp
