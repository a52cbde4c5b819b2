#pragma once

#include "mcp/tool_registry.hpp"

#include <string>

namespace cmcp {

/// What a model is told at first: what the tools on offer are for, and what would switch on those that cannot work.
std::string instructions_for(const tool_registry& tools);

}  // namespace cmcp
