#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// A text in UTF-8, and how its bytes were read.
struct converted_text {
    std::string text;
    std::string charset;  ///< for iconv: "UTF-8", "WINDOWS-1252", …
    std::string note;  ///< sentences: nothing was declared, what was cannot be true, characters were lost; empty: none
};

/// By byte order mark, then the header's charset parameter, then (HTML) the <meta> of the first 1024 bytes or (XML) the
/// declaration, then a guess. A declaration that the bytes contradict is passed over. Labels mean what the WHATWG
/// Encoding standard says ("iso-8859-1" is windows-1252). What cannot be read becomes U+FFFD. `language`: what is known
/// of the text from elsewhere, for the guess; the page's own `lang` comes before it.
converted_text decode_text(std::string_view bytes, std::string_view header_charset, std::string_view language = {});

}  // namespace cmcp
