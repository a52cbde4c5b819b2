#pragma once

#include "jsonrpc/json.hpp"
#include "mcp/session.hpp"

#include <string_view>

namespace cmcp {

using legacy_function = json::object (*)(session& who, const json::object& params);

/// The methods that only the older revisions know and that act on the session; null for others.
legacy_function find_legacy_method(std::string_view name);

}  // namespace cmcp
