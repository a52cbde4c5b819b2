#include "text/html.hpp"

namespace cmcp {

std::string html_escaped(std::string_view text)
{
    constexpr std::string_view special = "&<>\"'";
    std::string escaped;
    for (const char c : text) {
        if (special.find(c) == std::string_view::npos)
            escaped += c;
        else
            escaped += "&#" + std::to_string(static_cast<int>(c)) + ";";
    }
    return escaped;
}

}  // namespace cmcp
