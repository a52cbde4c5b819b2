#pragma once

#include <string_view>

/// JavaScript functions that the server runs in a page, in a world of their own. Pages can hide properties of
/// `document` and of forms behind elements of that name, so everything is reached by the prototypes' own accessors.
namespace cmcp::page_scripts {

/// (format, selector, limit) → {content, title, url, status, matches, truncated}; `limit` in UTF-16 units.
extern const std::string_view extract;

/// (selector, milliseconds) → whether an element matches, waiting so long for one.
extern const std::string_view await_element;

/// (selector) → {x, y, visible, name}: where to click, after scrolling there; null: nothing matches.
extern const std::string_view locate;

/// (selector, text) → "typed" (the field has the focus and its content is selected), "chosen" (an option), or a
/// sentence.
extern const std::string_view focus_field;

/// (selector, to) → null, after scrolling to the element, or "up", "down", "top", "bottom".
extern const std::string_view scroll;

}  // namespace cmcp::page_scripts
