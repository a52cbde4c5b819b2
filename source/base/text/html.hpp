#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// A text for HTML, between tags or between quotation marks.
std::string html_escaped(std::string_view text);

}  // namespace cmcp
