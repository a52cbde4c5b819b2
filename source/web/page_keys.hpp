#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// A key as Input.dispatchKeyEvent takes it (UI Events: KeyboardEvent.key and code).
struct page_key {
    std::string key;
    std::string code;
    int number = 0;    ///< keyCode
    std::string text;  ///< what it types; empty: nothing
};

/// By its name ("Enter", "ArrowDown") or as one character; nothing when there is no such key.
std::optional<page_key> find_key(std::string_view name);

/// The names, for the tool's description.
std::string key_names();

}  // namespace cmcp
