#pragma once

#include "text/utf8_text.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp {

/// The text of one stream of a run: all of it up to `most` bytes, of a longer text the head and the tail.
/// Holds at most about 1.5 × `most` bytes.
class captured_stream {
public:
    explicit captured_stream(std::size_t most) : head_most_(most / 2), tail_most_(most - most / 2) {}

    /// Returns the new text (valid UTF-8).
    std::string add(std::string_view bytes);
    std::string finish();

    std::uint64_t bytes() const { return bytes_; }  ///< received, before they were made text
    bool truncated() const { return size_ > head_most_ + tail_most_; }

    /// The whole text, or head, a line in brackets that says how much is missing and `where` to find it, and tail.
    std::string text(std::string_view where) const;

private:
    void keep(std::string_view text);

    std::size_t head_most_;
    std::size_t tail_most_;
    utf8_cleaner cleaner_;
    std::string head_;
    std::string tail_;
    std::uint64_t size_ = 0;  // of the text
    std::uint64_t bytes_ = 0;
};

}  // namespace cmcp
