#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "mcp/tool_registry.hpp"
#include "tools/tools.hpp"

#include <algorithm>

namespace cmcp {
namespace {

bool is_known(const tool_registry& tools, const std::string& word)
{
    const auto meant = [&](const auto& each) { return tools.profiles().means(word, each->definition().name); };
    return tools.profiles().knows(word) || std::ranges::any_of(tools.all(), meant) ||
           std::ranges::any_of(tools.unusable(), meant);
}

void define_profiles(tool_profiles& profiles)
{
    profiles.define("all", {"*"});
    // Its sandbox is the caller's own, so no call needs a handle.
    profiles.define("agent", {"execute_terminal_command", "execute_python_code", "install_packages_in_sandbox",
                              "set_network", "file_read", "file_write", "file_edit", "file_list", "file_search",
                              "view_file", "job_poll", "job_kill", "web_scrape", "web_browse", "expose_port"});
    profiles.define("discover", {"search_tools", "call_tool"});
    profiles.define("interpreter", {"create_sandbox", "execute_python_code", "install_packages_in_sandbox",
                                    "upload_file_to_sandbox", "download_file_from_sandbox", "list_sandbox_files",
                                    "view_file", "interrupt_kernel", "restart_kernel"});
    // The tools of earlier systems, whose users find here what they know.
    profiles.define("seed-a", {"system_run_command", "system_run_python", "system_env_var", "file_read", "file_write",
                               "file_list", "file_delete", "file_move", "web_search", "web_scrape", "web_browse"});
    profiles.define("seed-b", {"initialize_sandbox", "execute_code", "stop_sandbox"});
    profiles.define("seed-c", {"create_sandbox", "list_sandboxes", "delete_sandbox", "execute_python_code",
                               "execute_terminal_command", "install_packages_in_sandbox", "upload_file_to_sandbox"});
}

void check_principal(const settings& config, const std::string& name)
{
    const auto same = [&name](const auto& token) { return token.first == name; };
    if (std::ranges::any_of(config.auth_tokens, same)) return;
    throw config_error("MCP_AUTH_PROFILES: MCP_AUTH_TOKENS has no token of the name " + name);
}

}  // namespace

void choose_tools(tool_registry& tools, const settings& config)
{
    auto& profiles = tools.profiles();
    define_profiles(profiles);
    for (const auto& word : config.tools)
        if (!is_known(tools, word))
            throw config_error("TOOLS: no tool that TOOLS_ENABLE_* leave on has the name \"" + word +
                               "\"; the profiles are " + profiles.names());
    profiles.show(config.tools);
    for (const auto& [name, profile] : config.auth_profiles) {
        check_principal(config, name);
        if (!profiles.knows(profile))
            throw config_error("MCP_AUTH_PROFILES: there is no profile " + profile + "; the profiles are " +
                               profiles.names());
        profiles.show_to(name, profile);
    }
}

}  // namespace cmcp
