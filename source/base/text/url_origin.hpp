#pragma once

#include <string_view>

namespace cmcp {

/// `scheme://authority` of an absolute URL, as it is written there; empty where it is none.
inline std::string_view origin_of(std::string_view url)
{
    const auto mark = url.find("://");
    return mark == std::string_view::npos ? std::string_view() : url.substr(0, url.find_first_of("/?#", mark + 3));
}

}  // namespace cmcp
