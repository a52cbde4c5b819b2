#pragma once

#include "mcp/code_tools.hpp"
#include "mcp/server_core.hpp"

namespace cmcp {

class router;
class tool_rights;
struct settings;

/// What programs of sandboxes call, and by which rights.
struct code_sources {
    server_core& core;
    const settings& config;
    tool_rights& rights;
    other_tools others;
};

/// For the doors of sandboxes alone. GET /tools?search=<words>&limit=<n>: {"tools": […]}, those that programs of
/// sandboxes may call (SANDBOX_TOOLS). POST /tools/<tool>: as POST /mcp/tools/<tool>, until the run has made all its
/// calls; <server>.<tool> is one of another server. All must outlive the routes.
void add_code_routes(router& routes, code_sources from);

}  // namespace cmcp
