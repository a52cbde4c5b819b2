#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cmcp {

/// The length of the longest prefix that is valid UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t valid_utf8_length(std::string_view text);

/// Whether `text` could be the beginning of one character that is cut off: 1 to 3 bytes.
bool is_cut_utf8(std::string_view text);

/// The text with every byte that is not part of valid UTF-8 written as `\xFF`.
std::string escape_invalid_utf8(std::string_view text);

}  // namespace cmcp
