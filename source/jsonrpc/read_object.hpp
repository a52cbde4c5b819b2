#pragma once

#include "jsonrpc/json.hpp"

#include <string_view>

namespace cmcp::jsonrpc {

/// A JSON object, at most 256 levels deep; empty where the text is none.
json::object read_object(std::string_view text);

}  // namespace cmcp::jsonrpc
