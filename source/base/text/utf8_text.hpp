#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cmcp {

/// How many of a text's first bytes fit one character (0: none begins so), and how many bytes that character has.
/// Overlong forms, surrogates and characters above U+10FFFF do not fit.
struct utf8_start {
    std::size_t fits, needs;
};

/// `text` is not empty.
utf8_start first_character(std::string_view text);

/// The code point of the first character; it fits whole.
char32_t decode_character(std::string_view text);

/// The length of the longest prefix that is valid UTF-8.
std::size_t valid_utf8_length(std::string_view text);

bool is_utf8(std::string_view text);

/// Whether `text` could be the beginning of one character that is cut off: 1 to 3 bytes.
bool is_cut_utf8(std::string_view text);

/// The text with U+FFFD for every byte that is not part of valid UTF-8.
std::string replace_invalid_utf8(std::string_view text);

/// The text with `\xFF` for every byte that is not part of valid UTF-8.
std::string escape_invalid_utf8(std::string_view text);

/// The longest prefix of valid UTF-8 `text` that has at most `most` bytes.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

/// The longest suffix of valid UTF-8 `text` that has at most `most` bytes.
std::string_view utf8_suffix(std::string_view text, std::size_t most);

/// Makes text out of a stream of bytes that arrives in pieces. U+FFFD stands for bytes that are not UTF-8; a character
/// that is split between two pieces is put together again.
class utf8_cleaner {
public:
    /// The text of everything that is complete; the result is always valid UTF-8.
    std::string add(std::string_view bytes);

    /// The stream has ended: U+FFFD when it ended within a character, else nothing.
    std::string finish();

private:
    std::string carried_;  ///< the beginning of a character, at most three bytes
};

}  // namespace cmcp
