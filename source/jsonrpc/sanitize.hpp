#pragma once

#include "jsonrpc/json.hpp"

#include <string>
#include <string_view>

namespace cmcp::jsonrpc {

bool is_utf8(std::string_view text);

/// Every byte that is not part of well-formed UTF-8 becomes U+FFFD.
std::string to_utf8(std::string_view text);

/// Whether the value can be written as JSON: strings and keys are UTF-8, numbers are finite.
bool is_clean(const json::value& value);

/// A copy that can be written: strings by to_utf8, numbers that are not finite become null.
json::value cleaned(const json::value& value);

}  // namespace cmcp::jsonrpc
