#pragma once

#include "text/utf8_text.hpp"

#include <string>
#include <string_view>

namespace cmcp {

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
