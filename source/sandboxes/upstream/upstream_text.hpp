#pragma once

#include "config/upstream_entry.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace cmcp {

/// Text of an upstream server as one may show it: valid UTF-8 without control characters (but line ends and tabs),
/// sequences for terminals, characters that turn the direction of text, and invisible ones. At most `most` bytes.
std::string shown_text(std::string_view text, std::size_t most);

/// The same in one line.
std::string shown_line(std::string_view text, std::size_t most);

/// The text with *** for each secret of the entry that is in it.
std::string without_secrets(std::string text, const upstream_entry& of);

}  // namespace cmcp
