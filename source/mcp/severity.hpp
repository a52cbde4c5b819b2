#pragma once

#include "mcp/request_io.hpp"

#include <optional>
#include <string_view>

namespace cmcp {

std::string_view to_string(log_severity level);
std::optional<log_severity> parse_severity(std::string_view name);

/// Throws rpc_error invalid_params that lists the levels.
log_severity severity_from(const json::value& name, std::string_view member);

}  // namespace cmcp
