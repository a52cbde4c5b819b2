#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// Makes text out of a stream of bytes that arrives in pieces: what is not UTF-8 becomes U+FFFD, a character that is
/// split between two pieces is put together again.
class utf8_cleaner {
public:
    /// The text of everything that is complete; the result is always valid UTF-8.
    std::string add(std::string_view bytes);

    /// The stream has ended: U+FFFD when it ended within a character, else nothing.
    std::string finish();

private:
    std::string carried_;  ///< the beginning of a character, at most three bytes
};

/// The longest prefix of valid UTF-8 `text` that has at most `most` bytes.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

/// The longest suffix of valid UTF-8 `text` that has at most `most` bytes.
std::string_view utf8_suffix(std::string_view text, std::size_t most);

}  // namespace cmcp
