#pragma once

#include <string_view>

namespace cmcp::e2b {

/// container-mcp-envd, a static program that is part of this one.
std::string_view daemon_program();

}  // namespace cmcp::e2b
