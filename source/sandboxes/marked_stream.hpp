#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace cmcp {

/// A stream of bytes up to a mark, which may come in pieces. The mark and the bytes behind it are dropped.
class marked_stream {
public:
    void expect(std::string mark) { mark_ = std::move(mark); }

    /// The bytes that are sure to stand before the mark.
    std::string put(std::string_view bytes);

    /// The bytes that put() returned have been passed on.
    void delivered() { ended_ = found_; }
    bool ended() const { return ended_; }

private:
    std::string mark_;
    std::string held_;
    bool found_ = false;
    bool ended_ = false;
};

}  // namespace cmcp
