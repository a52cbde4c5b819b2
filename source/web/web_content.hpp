#pragma once

#include "web/http_client.hpp"

#include <string>
#include <string_view>

namespace cmcp {

/// How a page is read.
enum class page_kind { html, xml, text, pdf, other };

/// By its media type; by its first bytes when the server names none.
page_kind kind_of(const fetch_reply& page);

/// Throws fetch_error before the body is read when nothing can be done with its type.
void refuse_other_types(const fetch_head& head);

std::string other_type_sentence(std::string_view type);

struct decoded_text {
    std::string text;  ///< UTF-8
    std::string note;  ///< about a charset that could not be used
};

/// The bytes of a page as text (network/charset.hpp).
decoded_text decode_text(std::string_view bytes, std::string_view header_charset);

}  // namespace cmcp
