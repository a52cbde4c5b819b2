#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cmcp::connect {

/// The text of a client's file cannot be edited; what() is a sentence that names the line.
struct bad_text : std::runtime_error {
    bad_text(std::string_view text, std::size_t at, const std::string& reason)
        : runtime_error("line " + std::to_string(line_of(text, at)) + ": " + reason)
    {
    }

    static std::size_t line_of(std::string_view text, std::size_t at)
    {
        std::size_t line = 1;
        for (const char c : text.substr(0, at)) line += c == '\n' ? 1 : 0;
        return line;
    }
};

}  // namespace cmcp::connect
