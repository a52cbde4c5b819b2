#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// Python that reads one page inside the sandbox. Standard input: a line of JSON (kind html|xml|results, base, format,
/// selector, max_length), then the page in UTF-8. Standard output: one JSON object with content, title, matches,
/// length, truncated, links, or error (a sentence for the caller), or missing (names of packages).
const std::string& web_page_script();

/// The part of it that turns elements into text and markdown: class Renderer.
extern const std::string_view web_page_reading, web_page_renderer, web_page_beginning;

}  // namespace cmcp
