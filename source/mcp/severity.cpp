#include "mcp/severity.hpp"

#include "jsonrpc/rpc_error.hpp"

#include <array>

namespace cmcp {

namespace {

constexpr std::array<std::string_view, 8> names{"debug", "info",     "notice", "warning",
                                                "error", "critical", "alert",  "emergency"};

}  // namespace

std::string_view to_string(log_severity level) { return names[static_cast<std::size_t>(level)]; }

std::optional<log_severity> parse_severity(std::string_view name)
{
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == name) return static_cast<log_severity>(i);
    return std::nullopt;
}

log_severity severity_from(const json::value& name, std::string_view member)
{
    if (name.is_string())
        if (const auto level = parse_severity(std::string_view(name.get_string()))) return *level;
    throw rpc_error(rpc_code::invalid_params,
                    "Invalid params: `" + std::string(member) +
                        "` must be one of debug, info, notice, warning, error, critical, alert, emergency");
}

}  // namespace cmcp
