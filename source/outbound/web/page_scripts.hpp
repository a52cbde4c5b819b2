#pragma once

#include <string_view>

/// JavaScript functions that the server runs in a page, in a world of their own. Pages can hide properties of
/// `document` and of forms behind elements of that name, so everything is reached by the prototypes' own accessors.
/// Selectors reach into open shadow roots; each frame is a page of its own.
namespace cmcp::page_scripts {

/// Statements that stand before every function: how the others reach elements.
extern const std::string_view reach;

/// (format, selector, limit) → {content, title, url, status, matches, truncated, closed}; `limit` in UTF-16 units.
/// `content` is HTML: of format html the page's own, else what web_page_reader takes as kind "rendered". `closed`:
/// names of elements whose content seems to be out of reach.
extern const std::string_view extract;

/// (selector, milliseconds) → whether an element matches, waiting so long for one.
extern const std::string_view await_element;

/// (selector) → {x, y, visible, name}: where to click, after scrolling there; null: nothing matches.
extern const std::string_view locate;

/// (selector): gives the element the focus.
extern const std::string_view focus;

/// Of a frame's element, () → {x, y, shown}: where its page begins in the page that holds it, after scrolling there.
extern const std::string_view frame_box;

/// Of a frame's element, (content): what `extract` of the page that holds it shows instead of it.
extern const std::string_view frame_content;

/// (selector, text) → "typed" (the field has the focus and its content is selected), "chosen" (an option), or a
/// sentence.
extern const std::string_view focus_field;

/// (selector, to) → null, after scrolling to the element, or "up", "down", "top", "bottom".
extern const std::string_view scroll;

}  // namespace cmcp::page_scripts
