#pragma once

#include <iconv.h>

#include <string>
#include <string_view>

namespace cmcp {

/// A conversion of iconv(3).
class charset_converter {
public:
    charset_converter(const std::string& to, const std::string& from);
    charset_converter(const charset_converter&) = delete;
    charset_converter& operator=(const charset_converter&) = delete;
    ~charset_converter();

    bool usable() const { return handle_ != reinterpret_cast<iconv_t>(-1); }  ///< the library knows both names

    /// Converts until the input ends or holds what cannot be converted, which is then its beginning; errno, or 0.
    int convert(std::string_view& input, std::string& output) const;

private:
    iconv_t handle_;
};

/// Whether `word` is among the words that spaces separate in `list`.
bool is_word_of(std::string_view list, std::string_view word);

/// How the bytes of a text are to be read.
struct charset_choice {
    std::string name;      ///< for iconv: "UTF-8", "WINDOWS-1252", …
    std::string note;      ///< a sentence when what was declared could not be used; empty: none
    std::size_t skip = 0;  ///< bytes of the byte order mark
};

/// By byte order mark, then the header's charset parameter, then (HTML) the <meta> of the first 1024 bytes or (XML) the
/// declaration; UTF-8 when the bytes are that, windows-1252 otherwise. Labels mean what the WHATWG Encoding standard
/// says
/// ("iso-8859-1" is windows-1252).
charset_choice choose_charset(std::string_view bytes, std::string_view header_charset);

/// The text in UTF-8; what cannot be read becomes U+FFFD.
std::string to_utf8(std::string_view bytes, const charset_choice& choice);

}  // namespace cmcp
