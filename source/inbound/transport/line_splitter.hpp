#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Cuts a stream of bytes into lines, whatever the pieces they come in.
class line_splitter {
public:
    struct line {
        std::string text;       ///< without the line's end
        bool too_long = false;  ///< then `text` is empty: the line was dropped
    };

    explicit line_splitter(std::size_t longest) : longest_(longest) {}

    void limit(std::size_t longest) { longest_ = longest; }  ///< of the lines from now on

    void append(std::string_view bytes);
    std::optional<line> next();

    /// The text after the last line's end when the stream is over.
    std::optional<line> rest();

private:
    line take(std::size_t length);

    std::size_t longest_;
    std::string buffer_;
    std::size_t begin_ = 0;     // of what has not been handed out
    std::size_t searched_ = 0;  // no line's end before this
    bool dropping_ = false;
};

}  // namespace cmcp
