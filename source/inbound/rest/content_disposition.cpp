#include "rest/content_disposition.hpp"

#include "text/encodings.hpp"

#include <cctype>

namespace cmcp {

namespace {

// attr-char of RFC 5987.
bool stands_for_itself(unsigned char c)
{
    return c < 0x80 && (std::isalnum(c) != 0 ||
                        std::string_view("!#$&+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos);
}

}  // namespace

std::string content_disposition(std::string_view name)
{
    std::string plain;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        const bool quotable = byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '/' && c != '%';
        plain += quotable ? c : '_';
    }
    return "attachment; filename=\"" + plain + "\"; filename*=UTF-8''" + percent_encoded(name, stands_for_itself);
}

}  // namespace cmcp
