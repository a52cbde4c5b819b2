#pragma once

#include "text/ascii.hpp"

#include <algorithm>
#include <string>
#include <string_view>

// The looks of several kinds of settings at a text.
namespace cmcp::kinds {

inline bool has_control(std::string_view value)
{
    return std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

inline std::string bare(std::string_view text) { return std::string(trimmed(text, white_space)); }

}  // namespace cmcp::kinds
