#pragma once

#include <cstddef>
#include <string_view>

namespace cmcp {

/// A character that is written as an escape sequence.
struct text_escape {
    std::size_t size = 0;  ///< of the sequence; 0: there is none
    char means = 0;
};

/// The escape sequence at the beginning of a text, of URLs (%2B), of JSON, JavaScript, C and shells (\u002b, \x2b,
/// \053, \/), or of HTML (&#43; &#x2b; &plus;). It has at most 18 bytes. Others than for bytes of 0 to 255 are none.
text_escape escape_at_beginning_of(std::string_view text);

/// Whether an escape sequence may begin with it.
constexpr bool begins_escape(char c) { return c == '%' || c == '\\' || c == '&'; }

}  // namespace cmcp
