#include "connect/client.hpp"

#include <algorithm>
#include <stdexcept>

namespace cmcp::connect {

namespace {

namespace fs = std::filesystem;
using maybe_file = std::optional<client_file>;

json::object headers_of(const server_entry& server) { return {{"Authorization", server.authorization}}; }

json::object by_command(const server_entry& server, json::object entry = {})
{
    json::array arguments;
    for (std::size_t i = 1; i < server.command.size(); ++i) arguments.emplace_back(server.command[i]);
    entry["command"] = server.command.front();
    entry["args"] = std::move(arguments);
    return entry;
}

// Most clients: the address, and headers as an object.
json::object by_address(const server_entry& server, std::string_view member, json::object entry = {})
{
    if (server.url.empty()) return by_command(server, std::move(entry));
    entry[member] = server.url;
    if (!server.authorization.empty()) entry["headers"] = headers_of(server);
    return entry;
}

json::object with_type(const server_entry& server)
{
    return by_address(server, "url", {{"type", server.url.empty() ? "stdio" : "http"}});
}

json::object with_url(const server_entry& server) { return by_address(server, "url"); }
json::object with_http_url(const server_entry& server) { return by_address(server, "httpUrl"); }
json::object with_server_url(const server_entry& server) { return by_address(server, "serverUrl"); }

json::object codex_entry(const server_entry& server)
{
    json::object entry = with_url(server);
    if (entry.erase("headers") > 0) entry["http_headers"] = headers_of(server);
    return entry;
}

json::object opencode_entry(const server_entry& server)
{
    if (!server.url.empty()) return by_address(server, "url", {{"type", "remote"}});
    return {{"type", "local"}, {"command", json::value_from(server.command)}};
}

// The client starts programs only; this one speaks HTTP for it.
json::object claude_desktop_entry(const server_entry& server)
{
    if (server.url.empty()) return by_command(server);
    json::array arguments{"-y", "mcp-remote", server.url};
    const bool plain = server.url.starts_with("http://") && !server.url.starts_with("http://localhost") &&
                       !server.url.starts_with("http://127.0.0.1");
    if (plain) arguments.emplace_back("--allow-http");
    if (!server.authorization.empty()) {
        arguments.emplace_back("--header");
        arguments.emplace_back("Authorization: " + server.authorization);
    }
    return {{"command", "npx"}, {"args", std::move(arguments)}};
}

json::object copilot_entry(const server_entry& server)
{
    return by_address(server, "url", {{"type", server.url.empty() ? "local" : "http"}, {"tools", json::array{"*"}}});
}

json::object cline_entry(const server_entry& server)
{
    return by_address(server, "url", {{"type", server.url.empty() ? "stdio" : "streamableHttp"}});
}

json::object goose_entry(const server_entry& server)
{
    json::object entry{{"enabled", true}, {"type", server.url.empty() ? "stdio" : "streamable_http"}};
    if (server.url.empty()) {
        entry = by_command(server, std::move(entry));
        entry["cmd"] = server.command.front();
        entry.erase("command");
    } else {
        entry = by_address(server, "uri", std::move(entry));
    }
    entry["envs"] = json::object();
    entry["timeout"] = 300;
    return entry;
}

client_file below(const fs::path& base, const fs::path& name) { return {base / name, base}; }

maybe_file in_home(const user_paths& places, scope where, const char* name)
{
    return below(where == scope::user ? places.home() : places.project, name);
}

maybe_file in_config(const user_paths& places, scope where, const char* in_user, const char* in_project)
{
    if (where == scope::project) return in_project == nullptr ? maybe_file() : below(places.project, in_project);
    return below(places.config_home(), in_user);
}

maybe_file claude_code_file(const user_paths& places, scope where)
{
    if (where == scope::project) return below(places.project, ".mcp.json");
    const auto folder = places.variable("CLAUDE_CONFIG_DIR");
    return below(folder.empty() ? places.home() : fs::path(folder), ".claude.json");
}

maybe_file codex_file(const user_paths& places, scope where)
{
    const auto folder = places.variable("CODEX_HOME");
    if (where == scope::user && !folder.empty()) return below(folder, "config.toml");
    return in_home(places, where, ".codex/config.toml");
}

maybe_file claude_desktop_file(const user_paths& places, scope where)
{
    return in_config(places, where, "Claude/claude_desktop_config.json", nullptr);
}

maybe_file cursor_file(const user_paths& places, scope where) { return in_home(places, where, ".cursor/mcp.json"); }

maybe_file vscode_file(const user_paths& places, scope where)
{
    return in_config(places, where, "Code/User/mcp.json", ".vscode/mcp.json");
}

maybe_file gemini_file(const user_paths& places, scope where)
{
    return in_home(places, where, ".gemini/settings.json");
}

// The client reads both names; people have one of them.
maybe_file opencode_file(const user_paths& places, scope where)
{
    auto plain = in_config(places, where, "opencode/opencode.json", "opencode.json");
    auto commented = plain;
    commented->file += "c";
    std::error_code ignored;
    return fs::exists(commented->file, ignored) && !fs::exists(plain->file, ignored) ? commented : plain;
}

maybe_file windsurf_file(const user_paths& places, scope where)
{
    if (where == scope::project) return std::nullopt;
    return below(places.home(), ".codeium/windsurf/mcp_config.json");
}

maybe_file devin_file(const user_paths& places, scope where)
{
    return in_config(places, where, "devin/mcp_config.json", ".devin/mcp_config.json");
}

// Versions before the common folder of Google's agents had their own.
maybe_file antigravity_file(const user_paths& places, scope where)
{
    if (where == scope::project) return std::nullopt;
    auto common = below(places.home(), ".gemini/config/mcp_config.json");
    std::error_code ignored;
    if (fs::exists(common.file, ignored)) return common;
    for (const char* older : {".gemini/antigravity/mcp_config.json", ".gemini/antigravity-cli/mcp_config.json"})
        if (auto own = below(places.home(), older); fs::exists(own.file, ignored)) return own;
    return common;
}

maybe_file copilot_file(const user_paths& places, scope where)
{
    if (where == scope::project) return below(places.project, ".github/mcp.json");
    const auto folder = places.variable("COPILOT_HOME");
    return folder.empty() ? below(places.home(), ".copilot/mcp-config.json") : below(folder, "mcp-config.json");
}

maybe_file cline_file(const user_paths& places, scope where)
{
    if (where == scope::project) return std::nullopt;
    if (const fs::path named = places.variable("CLINE_MCP_SETTINGS_PATH"); named.is_absolute())
        return client_file{named, named.parent_path()};
    return below(places.home(), ".cline/data/settings/cline_mcp_settings.json");
}

maybe_file cline_vscode_file(const user_paths& places, scope where)
{
    return in_config(places, where, "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                     nullptr);
}

maybe_file kiro_file(const user_paths& places, scope where)
{
    return in_home(places, where, ".kiro/settings/mcp.json");
}

maybe_file lm_studio_file(const user_paths& places, scope where)
{
    if (where == scope::project) return std::nullopt;
    return below(places.home(), ".lmstudio/mcp.json");
}

maybe_file junie_file(const user_paths& places, scope where) { return in_home(places, where, ".junie/mcp/mcp.json"); }

maybe_file goose_file(const user_paths& places, scope where)
{
    return in_config(places, where, "goose/config.yaml", nullptr);
}

maybe_file zed_file(const user_paths& places, scope where)
{
    return in_config(places, where, "zed/settings.json", ".zed/settings.json");
}

}  // namespace

std::string user_paths::variable(std::string_view name) const
{
    const auto entry = variables.find(name);
    return entry == variables.end() ? std::string() : entry->second;
}

fs::path user_paths::home() const
{
    const auto folder = variable("HOME");
    if (folder.starts_with('/')) return folder;
    throw std::runtime_error("HOME is not set, so the client's file is not known: name it with --file");
}

fs::path user_paths::config_home() const
{
    const auto folder = variable("XDG_CONFIG_HOME");
    return folder.starts_with('/') ? fs::path(folder) : home() / ".config";
}

const std::vector<client>& clients()
{
    using form = client::form;
    constexpr std::string_view at_next_start = "It reads the file at its next start.";
    static const std::vector<client> all{
        {"claude-code", "Claude Code", form::json, "mcpServers", true, claude_code_file, with_type, at_next_start},
        {"claude-desktop", "Claude Desktop", form::json, "mcpServers", false, claude_desktop_file, claude_desktop_entry,
         at_next_start},
        {"cursor", "Cursor", form::json_with_comments, "mcpServers", true, cursor_file, with_url,
         "It asks whether to switch the server on: Settings, MCP."},
        {"vscode", "VS Code", form::json_with_comments, "servers", true, vscode_file, with_type,
         "`MCP: List Servers` in its command palette starts the server."},
        {"gemini", "Gemini CLI", form::json_with_comments, "mcpServers", true, gemini_file, with_http_url,
         "It uses servers in trusted folders alone, and reads the file at its next start."},
        {"codex", "Codex", form::toml, "mcp_servers", true, codex_file, codex_entry, at_next_start},
        {"opencode", "opencode", form::json_with_comments, "mcp", true, opencode_file, opencode_entry, at_next_start},
        {"devin", "Devin Desktop", form::json_with_comments, "mcpServers", true, devin_file, with_url,
         "Its list of MCP servers shows the server; older versions, named Windsurf, read the file of `windsurf`."},
        {"windsurf", "Windsurf", form::json_with_comments, "mcpServers", true, windsurf_file, with_server_url,
         "Refresh the list of servers in its MCP settings."},
        {"zed", "Zed", form::json_with_comments, "context_servers", true, zed_file, with_url,
         "It reads the file at once."},
        {"antigravity", "Antigravity", form::json_with_comments, "mcpServers", true, antigravity_file, with_server_url,
         "Refresh the list in `Manage MCP Servers`."},
        {"copilot", "Copilot CLI", form::json, "mcpServers", true, copilot_file, copilot_entry, at_next_start},
        {"cline", "Cline CLI", form::json, "mcpServers", true, cline_file, cline_entry, at_next_start},
        {"cline-vscode", "Cline in VS Code", form::json, "mcpServers", true, cline_vscode_file, cline_entry,
         "It reads the file at once."},
        {"kiro", "Kiro", form::json_with_comments, "mcpServers", true, kiro_file, with_url,
         "It reads the file at once."},
        {"lm-studio", "LM Studio", form::json, "mcpServers", true, lm_studio_file, with_url,
         "It reads the file at once."},
        {"junie", "Junie", form::json, "mcpServers", true, junie_file, with_url,
         "Settings, Tools, Junie, MCP Settings shows whether it runs."},
        {"goose", "goose", form::yaml, "extensions", true, goose_file, goose_entry,
         "Its next session has the extension."},
    };
    return all;
}

const client* find_client(std::string_view name)
{
    const auto entry = std::ranges::find(clients(), name, &client::name);
    return entry == clients().end() ? nullptr : &*entry;
}

std::string_view by_hand(std::string_view name)
{
    if (name == "open-webui")
        return "Open WebUI keeps its servers in its database: Admin Settings, External Tools, +, Type \"MCP "
               "(Streamable "
               "HTTP)\", the URL of /mcp, Auth \"Bearer\" with a key.";
    if (name == "jetbrains" || name == "ai-assistant")
        return "AI Assistant keeps its servers in the IDE: Settings, Tools, AI Assistant, Model Context Protocol, +, "
               "and paste what `container-mcp connect junie --dry-run` shows. Junie has a file of its own: junie.";
    return {};
}

const std::vector<std::string>& managed_members()
{
    static const std::vector<std::string> names{
        "type", "url",     "httpUrl",      "serverUrl",        "command",
        "args", "headers", "http_headers", "env_http_headers", "bearer_token_env_var",
        "uri",  "cmd"};
    return names;
}

}  // namespace cmcp::connect
