#pragma once

#include "app/managers.hpp"
#include "config/settings.hpp"
#include "mcp/tool_registry.hpp"

namespace cmcp {

/// Adds the tools on offer, in their fixed order; TOOLS_ENABLE_* leave groups out. `all` and `chosen` must outlive the
/// registry.
void register_tools(tool_registry& registry, managers& all, const settings& chosen);

}  // namespace cmcp
