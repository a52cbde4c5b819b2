#include "transport/content_disposition.hpp"

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
    constexpr char digits[] = "0123456789ABCDEF";
    std::string plain, exact;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        const bool quotable = byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '/' && c != '%';
        plain += quotable ? c : '_';
        if (stands_for_itself(byte))
            exact += c;
        else
            exact += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    return "attachment; filename=\"" + plain + "\"; filename*=UTF-8''" + exact;
}

}  // namespace cmcp
