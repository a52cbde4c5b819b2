#include "mcp/request_io.hpp"

#include "jsonrpc/rpc_error.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace cmcp {

namespace {

constexpr std::array<std::string_view, 8> severities{"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};

}  // namespace

std::string_view to_string(log_severity level) { return severities[static_cast<std::size_t>(level)]; }

log_severity severity_from(const json::value& name, std::string_view member)
{
    const auto* text = name.if_string();
    const auto level =
        text ? std::find(severities.begin(), severities.end(), std::string_view(*text)) : severities.end();
    if (level != severities.end()) return static_cast<log_severity>(level - severities.begin());
    throw rpc_error(rpc_code::invalid_params,
                    "Invalid params: `" + std::string(member) +
                        "` must be one of debug, info, notice, warning, error, critical, alert, emergency");
}

awaitable<std::optional<json::object>> request_io::ask_meanwhile(std::string, std::string, json::object,
                                                                 std::chrono::milliseconds)
{
    throw std::logic_error("this call's client cannot be asked: see can_ask()");
}

std::string request_io::become_task(std::string)
{
    throw std::logic_error("this call cannot become a task: see takes_task()");
}

}  // namespace cmcp
