#pragma once

#include "http/http_request.hpp"

#include <string_view>

namespace cmcp {

/// The value of a cookie that the request brings; empty: it brings none of this name.
std::string_view cookie_in(const http_request& request, std::string_view name);

}  // namespace cmcp
