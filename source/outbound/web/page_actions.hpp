#pragma once

#include "web/browser_page.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// A thing to do on a page, as a person would do it.
struct page_action {
    enum class kind { click, type, press, scroll, wait };

    kind what = kind::wait;
    std::string selector;               ///< click, type; scroll and wait: may be empty; press: the field to press it in
    std::string text;                   ///< type
    std::string key;                    ///< press: "Enter", "Tab", "ArrowDown", "a", …
    std::string to = "down";            ///< scroll without selector: up, down, top, bottom
    std::chrono::milliseconds time{0};  ///< wait: how long at most with a selector, exactly without
};

/// As browser_page::evaluate, with a sentence about a malformed `selector`.
awaitable<json::value> evaluate_with_selector(browser_page& page, std::string_view function, std::string selector,
                                              json::array arguments);

/// The frames that lead to an element, the outermost first; empty: it is in the page itself.
using frame_path = std::vector<page_frame>;

/// Waits at most `limit` for an element in the page or one of its frames; nothing: there is none. Throws page_error
/// when the selector is malformed.
awaitable<std::optional<frame_path>> find_element(browser_page& page, std::string selector,
                                                  std::chrono::milliseconds limit);

/// Does the action and waits for its effects. Throws page_error with a sentence that says what to do.
awaitable<> perform(browser_page& page, page_action action);

}  // namespace cmcp
