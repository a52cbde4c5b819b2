#include "server/greeting.hpp"

#include "config/settings.hpp"
#include "prebuilt/version.hpp"
#include "server/access_token.hpp"
#include "server/diagnosis.hpp"
#include "server/sandbox_start.hpp"
#include "web/web_browser.hpp"

#include <algorithm>

namespace cmcp::command {

namespace {

std::string sandbox_line(const sandbox::layers& layers, const settings& config)
{
    const auto required = required_layers(layers, config);
    const diagnosis about = diagnose(layers, required);
    const bool all = sandbox::missing(layers, required).empty();
    return std::to_string(about.on) + " layers on, all required ones" + (all ? "" : " but that of web_browse") +
           " (`container-mcp doctor` tells more)";
}

std::string python_line(const sandbox::layers& layers)
{
    const auto named = [](const sandbox::layer& each) { return each.name == "python_zygote"; };
    const auto at = std::find_if(layers.begin(), layers.end(), named);
    if (at == layers.end()) return "cold";
    if (at->is == sandbox::layer::state::on) return "fast: an interpreter is kept loaded";
    return "cold: " + at->detail;
}

std::string browser_line(const settings& config)
{
    if (!config.enable_web) return "off: TOOLS_ENABLE_WEB is false";
    const std::string obstacle = browser_obstacle(config);
    return obstacle.empty() ? "ready: it starts with the first page" : "none: " + obstacle;
}

std::string upstream_line(const settings& config)
{
    std::string names;
    for (const auto& each : config.upstreams) names += (names.empty() ? "" : ", ") + each.name;
    return names.empty() ? names : "  upstream  " + names + " (`container-mcp upstream list` tells more)\n";
}

std::string token_line(const bound_address& bound, const settings& config)
{
    if (!config.auth_tokens.empty() && config.auth_tokens.front().first.empty())
        return "1, kept in " + (config.sandbox_root / "auth-token").string() +
               ": clients send `Authorization: Bearer …`";
    if (config.auth_tokens.empty() && config.callers_have_names())
        return "callers send `Authorization: Bearer …` with " + credentials_in_words(config);
    if (!config.auth_tokens.empty())
        return std::to_string(config.auth_tokens.size()) + ": clients send `Authorization: Bearer …`";
    if (!bound.path().empty()) return "none: only this user may connect (the socket has mode 0600)";
    if (bound.is_local()) return "none: only programs on this machine may connect";
    return "none: whoever reaches this address can run code here; set MCP_AUTH=auto or MCP_AUTH_TOKENS";
}

std::string connect_line(const bound_address& bound, const settings& config)
{
    if (!bound.path().empty())
        return "curl --unix-socket " + bound.path() +
               " http://localhost/healthz; clients that speak TCP only: " + "`container-mcp stdio`, or a proxy";
    std::string line = "claude mcp add --transport http container-mcp \"" + bound.url() + "/mcp?profile=agent\"";
    return !config.callers_have_names() || !config.auth_issuers.empty()
               ? line
               : line + " --header \"Authorization: Bearer …\"";
}

std::string place_line(const bound_address& bound)
{
    if (!bound.path().empty()) return bound.path();
    return bound.url() + "   (a browser shows there how to connect, and " + bound.url() + "/docs every tool)";
}

}  // namespace

std::string greeting(const bound_address& bound, const settings& config, const sandbox::layers& layers)
{
    return "\nContainer-MCP " CMCP_VERSION "   " + place_line(bound) +
           "\n"
           "  sandbox   " +
           sandbox_line(layers, config) +
           "\n"
           "  python    " +
           python_line(layers) +
           "\n"
           "  browser   " +
           browser_line(config) + "\n" + upstream_line(config) + "  tokens    " + token_line(bound, config) +
           "\n"
           "  connect   " +
           connect_line(bound, config) +
           "\n"
           "Ctrl+C ends it.\n\n";
}

}  // namespace cmcp::command
