#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::connect {

/// A member of an object and where it stands in the text.
struct json_member {
    std::string name;
    std::size_t begin = 0;        ///< of the name's quote
    std::size_t value_begin = 0;  ///< of the value
    std::size_t end = 0;          ///< behind the value
};

/// An object and where it stands in the text.
struct json_span {
    std::size_t open = 0;   ///< of the brace
    std::size_t close = 0;  ///< of the other brace
    std::vector<json_member> members;
};

/// The following take text that is known to be JSON, with comments or without.

/// Behind white space and comments from `at` on.
std::size_t skip_blank(std::string_view text, std::size_t at);

/// The object whose brace is at `open`.
json_span scan_object(std::string_view text, std::size_t open);

}  // namespace cmcp::connect
