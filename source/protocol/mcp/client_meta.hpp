#pragma once

#include "jsonrpc/json.hpp"
#include "mcp/reserved_names.hpp"
#include "mcp/revision.hpp"

#include <utility>

namespace cmcp {

/// Writes into the `_meta` of a request that it is one of 2026-07-28, and from which client. `info` may be empty.
inline void declare_client(json::object& meta, json::object capabilities, json::object info)
{
    meta[reserved_name::protocol_version] = to_string(revision::v2026_07_28);
    meta[reserved_name::client_capabilities] = std::move(capabilities);
    if (!info.empty()) meta[reserved_name::client_info] = std::move(info);
}

}  // namespace cmcp
