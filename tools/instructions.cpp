#include "mcp/tool_registry.hpp"
#include "tools/tools.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace cmcp {
namespace {

bool offers_tool(const tool_registry& tools, std::string_view name)
{
    return std::ranges::any_of(tools.all(), [name](const auto& each) { return each->definition().name == name; });
}

// "a", "a and b", "a, b and c"
std::string enumeration(const std::vector<std::string_view>& names)
{
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
        text += names[i];
    }
    return text;
}

std::string about_web(const tool_registry& tools)
{
    std::vector<std::string_view> names;
    for (const std::string_view name : {"web_search", "web_scrape", "web_browse"})
        if (offers_tool(tools, name)) names.push_back(name);
    if (names.empty()) return {};
    return enumeration(names) + (names.size() == 1 ? " reads the web. " : " read the web. ");
}

std::string about_unusable(const tool_registry& tools)
{
    std::string text;
    for (const auto& each : tools.unusable())
        text += "Not available here: " + each->definition().name + ". " + each->obstacle() + " ";
    return text;
}

}  // namespace

std::string instructions_for(const tool_registry& tools)
{
    const bool runs = offers_tool(tools, "system_run_command");
    const bool files = offers_tool(tools, "file_read");
    std::string text;
    if (runs)
        text +=
            "system_run_command runs bash commands and system_run_python runs Python in a sandbox without network. ";
    if (files) text += "The tools file_* work on files. ";
    if (runs && files) text += "All of them share one workspace: a relative path means the same file everywhere. ";
    if (offers_tool(tools, "view_file")) text += "view_file shows images, PDF and tables. ";
    if (offers_tool(tools, "create_sandbox"))
        text +=
            "Sandboxes with files and packages of their own last until they are deleted (create_sandbox, "
            "execute_python_code, …); "
            "run_in_background makes a run a job (job_poll). ";
    if (runs) text += "Results say in `cause` why a run ended; system_info tells the limits. ";
    if (files)
        text +=
            "Long results are cut: left_out and output_path say where file_read finds the rest, and any tool takes "
            "max_output (bytes) for more or less. ";
    text += about_web(tools) + about_unusable(tools);
    if (!text.empty()) text.pop_back();
    return text;
}

}  // namespace cmcp
