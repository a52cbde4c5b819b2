#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/tool_registry.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The tool by which code calls those of upstream servers: {server, tool, arguments}.
inline constexpr const char* upstream_tool_name = "call_upstream";

/// The tools of other servers that a principal may use.
struct other_tools {
    /// Described like described_to_code(), named <server>.<tool>.
    std::function<awaitable<std::vector<json::object>>(std::string principal)> all;

    /// Whether one changes nothing, as its server says. Nothing: there is no such tool.
    std::function<awaitable<std::optional<bool>>(std::string principal, std::string server, std::string tool)>
        reads_only;
};

/// A tool as code sees it.
json::object described_to_code(const tool_definition& tool);

/// Whether a list like SANDBOX_TOOLS means the tool: names, patterns, `read-only`, `all`, but no `!name` of the list.
bool list_means(const std::vector<std::string>& list, std::string_view tool, bool read_only);

/// The tools that fit the words best, at most so many, the best first; without words all in their order. A tool fits
/// each word that its name, title or description holds, whatever the case.
std::vector<json::object> best_fits(std::vector<json::object> tools, std::string_view words, std::size_t most);

}  // namespace cmcp
