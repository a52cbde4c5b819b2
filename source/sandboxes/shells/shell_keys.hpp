#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// The bytes that a terminal sends for a key: "enter", "up", "ctrl-c", "alt-f", "f5" and so on. `application`: the mode
/// in which programs of the whole screen want the arrows. Nothing: there is no such key.
std::optional<std::string> key_bytes(std::string_view name, bool application);

inline constexpr std::string_view known_keys =
    "enter, tab, shift-tab, esc, space, backspace, delete, insert, up, down, left, right, home, end, page-up, "
    "page-down, f1 to f12, ctrl-a to ctrl-z, ctrl-space, alt- and a character";

}  // namespace cmcp
