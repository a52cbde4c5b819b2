#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/tool_registry.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The tool by which code calls those of upstream servers: {server, tool, arguments}.
inline constexpr const char* upstream_tool_name = "call_upstream";

/// As described_to_code() describes a tool. Shared, because other servers describe many at length.
using tool_for_code = std::shared_ptr<const json::object>;

/// The tools of other servers that a principal may use.
struct other_tools {
    /// Described like described_to_code(), named <server>.<tool>.
    std::function<awaitable<std::vector<tool_for_code>>(std::string principal)> all;

    /// Whether one changes nothing, as its server says. Nothing: there is no such tool.
    std::function<awaitable<std::optional<bool>>(std::string principal, std::string server, std::string tool)>
        reads_only;
};

/// A tool as code sees it: its own sandbox is meant where it names none.
json::object described_to_code(const tool_definition& tool);

/// Whether `read-only` of SANDBOX_TOOLS means the tool: it changes nothing, and reaches nothing outside.
bool is_closed_and_read_only(const tool_definition& tool);

/// Whether a list like SANDBOX_TOOLS means the tool: names, patterns, `read-only`, `all`, but no `!name` of the list.
/// `read_only`: is_closed_and_read_only().
bool list_means(const std::vector<std::string>& list, std::string_view tool, bool read_only);

/// The same of a tool <server>.<tool> of another server, to which data goes that code gives it: an entry has to name
/// the server, as `github.*` does, unless the code may reach the network.
bool list_means_upstream(const std::vector<std::string>& list, std::string_view tool, const calling_code& from);

/// Why the code may not call the tool, which it may call as such; empty: it may.
std::string overreach(const tool_definition& tool, const calling_code& from);

/// Names the code's own sandbox where a tool wants one and the call names none.
void mean_own_sandbox(const tool_definition& tool, json::object& arguments, const calling_code& from);

/// The tools that fit the words best, at most so many, the best first; without words all in their order. A tool fits
/// each word that its name, title or description holds, whatever the case. Words behind the sixteenth do not count.
std::vector<tool_for_code> best_fits(const std::vector<tool_for_code>& tools, std::string_view words, std::size_t most);

}  // namespace cmcp
