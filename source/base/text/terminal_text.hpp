#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// Valid UTF-8 `text` as a terminal shows it in the end: what `\r`, backspaces and the erasing of lines have
/// overwritten is gone, and so are colours and other control sequences. Never longer than `text`; linear in its length.
std::string as_terminal_shows(std::string_view text);

/// Whether valid UTF-8 was made out of bytes that are no text: by its beginning, which has many control characters or
/// many U+FFFD.
bool looks_binary(std::string_view text);

}  // namespace cmcp
