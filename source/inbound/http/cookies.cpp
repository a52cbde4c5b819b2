#include "http/cookies.hpp"

#include "text/ascii.hpp"
#include "text/words.hpp"

namespace cmcp {

std::string_view cookie_in(const http_request& request, std::string_view name)
{
    for (const auto part : split(request.header("cookie").value_or(""), ';')) {
        const auto cookie = trimmed(part);
        if (cookie.size() > name.size() && cookie.starts_with(name) && cookie[name.size()] == '=')
            return cookie.substr(name.size() + 1);
    }
    return {};
}

}  // namespace cmcp
