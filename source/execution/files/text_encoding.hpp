#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// The encodings of text that file_read and file_write know beside base64: utf-8, ascii, utf-16 (with byte order mark),
/// utf-16le, utf-16be, the same of utf-32, latin-1, other ISO 8859 and Windows code pages, and the East Asian ones.
/// Case, "-" and "_" in a name do not matter. The table is closed: no name reaches the C library that is not in it.
class text_encoding {
public:
    explicit text_encoding(std::string_view name);  ///< throws file_error that names `encoding`

    struct decoded {
        std::string text;          ///< UTF-8
        std::size_t consumed = 0;  ///< bytes; what is left is the beginning of a character
    };

    /// Throws file_not_text when the bytes are not of this encoding.
    decoded decode(std::string_view bytes) const;

    /// Throws file_error when a character does not exist in this encoding.
    std::string encode(std::string_view text) const;

    bool needs_beginning() const
    {
        return canonical_ == "UTF-16" || canonical_ == "UTF-32";
    }  ///< cannot be read from the middle

private:
    std::string canonical_;
};

/// The encoding of a text that begins so: utf-16 or utf-32 with le or be where a byte order mark says so and `named`,
/// which may be empty, leaves it open; utf-8 where nothing is named.
std::string encoding_by_mark(const std::string& named, std::string_view bytes);

}  // namespace cmcp
