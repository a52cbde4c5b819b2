#include "server/greeting.hpp"

#include "server/diagnosis.hpp"
#include "web/web_browser_setup.hpp"

#include <algorithm>

namespace cmcp::command {

namespace {

std::string sandbox_line(const sandbox::layers& found, const settings& chosen)
{
    const diagnosis about = diagnose(found, chosen.sandbox_require);
    return std::to_string(about.on) + " layers on, all required ones (`container-mcp doctor` tells more)";
}

std::string python_line(const sandbox::layers& found)
{
    const auto named = [](const sandbox::layer& each) { return each.name == "python_zygote"; };
    const auto at = std::find_if(found.begin(), found.end(), named);
    if (at == found.end()) return "cold";
    if (at->is == sandbox::layer::state::on) return "fast: an interpreter is kept loaded";
    return "cold: " + at->detail;
}

std::string browser_line(const settings& chosen)
{
    if (!chosen.enable_web) return "off: TOOLS_ENABLE_WEB is false";
    const std::string obstacle = browser_obstacle(chosen);
    return obstacle.empty() ? "ready: it starts with the first page" : "none: " + obstacle;
}

std::string token_line(bool loopback, const settings& chosen)
{
    if (!chosen.auth_tokens.empty())
        return std::to_string(chosen.auth_tokens.size()) + ": clients send `Authorization: Bearer …`";
    if (loopback) return "none: only programs on this machine may connect";
    return "none: whoever reaches this address can run code here; set MCP_AUTH_TOKENS";
}

std::string connect_line(const std::string& url, const settings& chosen)
{
    std::string line = "claude mcp add --transport http container-mcp " + url + "/mcp";
    return chosen.auth_tokens.empty() ? line : line + " --header \"Authorization: Bearer …\"";
}

}  // namespace

std::string greeting(const std::string& url, bool loopback, const settings& chosen, const sandbox::layers& found)
{
    return "\nContainer-MCP " CMCP_VERSION "   " + url + "   (a browser shows there how to connect, and " + url +
           "/docs every tool)\n"
           "  sandbox   " +
           sandbox_line(found, chosen) +
           "\n"
           "  python    " +
           python_line(found) +
           "\n"
           "  browser   " +
           browser_line(chosen) +
           "\n"
           "  tokens    " +
           token_line(loopback, chosen) +
           "\n"
           "  connect   " +
           connect_line(url, chosen) +
           "\n"
           "Ctrl+C ends it.\n\n";
}

}  // namespace cmcp::command
