#pragma once

#include <string>

namespace cmcp {

/// Appends a character as UTF-8.
inline void append_character(std::string& to, char32_t character)
{
    const auto add = [&](char32_t byte) { to += static_cast<char>(byte); };
    if (character < 0x80) return add(character);
    const int rest = character < 0x800 ? 0 : character < 0x10000 ? 6 : 12;
    add((rest == 0 ? 0xc0u : rest == 6 ? 0xe0u : 0xf0u) | character >> (rest + 6));
    for (int bits = rest; bits >= 0; bits -= 6) add(0x80u | (character >> bits & 0x3fu));
}

}  // namespace cmcp
