#pragma once

#include "jsonrpc/json.hpp"
#include "mcp/catalogue.hpp"
#include "mcp/change_hub.hpp"
#include "mcp/session.hpp"

#include <memory>
#include <string_view>

namespace cmcp {

/// The objects that the methods act on.
struct legacy_call {
    std::shared_ptr<session> who;
    const json::object& params;
    const catalogue& offered;
    change_hub& changes;
};

using legacy_function = json::object (*)(const legacy_call& call);

/// The methods that only the older revisions know and that act on the session; null for others.
legacy_function find_legacy_method(std::string_view name);

}  // namespace cmcp
