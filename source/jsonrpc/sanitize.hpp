#pragma once

#include <string>
#include <string_view>

namespace cmcp::jsonrpc {

bool is_utf8(std::string_view text);

/// Every byte that is not part of well-formed UTF-8 becomes U+FFFD.
std::string to_utf8(std::string_view text);

}  // namespace cmcp::jsonrpc
