#include "connect/change.hpp"
#include "connect/masked_line.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::connect;

namespace {

const server_entry by_http{"http://127.0.0.1:8000/mcp?profile=agent", "Bearer k", {}};
const server_entry by_program{"", "", {"/usr/bin/container-mcp", "stdio"}};

std::string changed(std::string_view name, const std::string& text, const server_entry& server)
{
    return changed_text(*find_client(name), text, "container-mcp", server);
}

json::value entry_of(std::string_view name, const server_entry& server)
{
    const auto& client = *find_client(name);
    return json::parse(changed(name, "", server)).at(client.servers).at("container-mcp");
}

}  // namespace

TEST_CASE("each client gets the members that it reads")
{
    const json::object headers{{"Authorization", "Bearer k"}};
    const std::string url = by_http.url;
    CHECK(entry_of("claude-code", by_http) == json::object{{"type", "http"}, {"url", url}, {"headers", headers}});
    CHECK(entry_of("vscode", by_http) == json::object{{"type", "http"}, {"url", url}, {"headers", headers}});
    CHECK(entry_of("cursor", by_http) == json::object{{"url", url}, {"headers", headers}});
    CHECK(entry_of("zed", by_http) == json::object{{"url", url}, {"headers", headers}});
    CHECK(entry_of("gemini", by_http) == json::object{{"httpUrl", url}, {"headers", headers}});
    CHECK(entry_of("windsurf", by_http) == json::object{{"serverUrl", url}, {"headers", headers}});
    CHECK(entry_of("opencode", by_http) == json::object{{"type", "remote"}, {"url", url}, {"headers", headers}});
    CHECK(entry_of("devin", by_http) == json::object{{"url", url}, {"headers", headers}});
    CHECK(entry_of("antigravity", by_http) == json::object{{"serverUrl", url}, {"headers", headers}});
    for (const char* name : {"kiro", "lm-studio", "junie"})
        CHECK(entry_of(name, by_http) == json::object{{"url", url}, {"headers", headers}});
    for (const char* name : {"cline", "cline-vscode"})
        CHECK(entry_of(name, by_http) == json::object{{"type", "streamableHttp"}, {"url", url}, {"headers", headers}});
    CHECK(entry_of("copilot", by_http) ==
          json::object{{"type", "http"}, {"tools", json::array{"*"}}, {"url", url}, {"headers", headers}});
    CHECK(entry_of("claude-desktop", by_http) ==
          json::object{{"command", "npx"},
                       {"args", json::array{"-y", "mcp-remote", url, "--header", "Authorization: Bearer k"}}});
    CHECK(json::serialize(entry_of("claude-desktop", {"http://h/mcp", "", {}})).find("--allow-http") !=
          std::string::npos);
    CHECK(entry_of("claude-desktop", by_program) ==
          json::object{{"command", "/usr/bin/container-mcp"}, {"args", json::array{"stdio"}}});
    CHECK(entry_of("claude-code", by_program) ==
          json::object{{"type", "stdio"}, {"command", "/usr/bin/container-mcp"}, {"args", json::array{"stdio"}}});
    CHECK(entry_of("opencode", by_program) ==
          json::object{{"type", "local"}, {"command", json::array{"/usr/bin/container-mcp", "stdio"}}});
    CHECK(changed("codex", "", by_http) ==
          "[mcp_servers.container-mcp]\nurl = \"" + url + "\"\nhttp_headers = { Authorization = \"Bearer k\" }\n");
}

TEST_CASE("of an entry that is there the user's own members stay, and those of the other transport go")
{
    const std::string before = R"({"mcpServers": {"container-mcp": {"command": "x", "args": [], "trust": true}}})";
    const auto after = json::parse(changed("gemini", before, by_http)).at("mcpServers").at("container-mcp").as_object();
    CHECK(after.at("trust") == true);
    CHECK(!after.contains("command"));
}

TEST_CASE("opencode's servers are where its file has them")
{
    CHECK(json::parse(changed("opencode", R"({"mcp": {"servers": {}}})", by_http))
              .at("mcp")
              .at("servers")
              .as_object()
              .size() == 1);
    CHECK(json::parse(changed("opencode", R"({"mcp": {"servers": {"type": "local"}}})", by_http))
              .at("mcp")
              .as_object()
              .size() == 2);
}

TEST_CASE("a narrower choice of tools that the user has made stays")
{
    const auto first = changed("copilot", "", by_http);
    const auto at = first.find("\"*\"");
    REQUIRE(at != std::string::npos);
    const auto narrowed = std::string(first).replace(at, 3, "\"file_read\"");
    CHECK(changed("copilot", narrowed, by_http) == narrowed);
}

TEST_CASE("files are those of the scope, and variables move them")
{
    user_paths paths{{{"HOME", "/h"}}, "/p"};
    const auto file = [&](std::string_view name, scope where) {
        const auto known = find_client(name)->file(paths, where);
        return known ? known->file.string() : "none";
    };
    CHECK(file("claude-code", scope::user) == "/h/.claude.json");
    CHECK(file("claude-code", scope::project) == "/p/.mcp.json");
    CHECK(file("claude-desktop", scope::project) == "none");
    CHECK(file("windsurf", scope::user) == "/h/.codeium/windsurf/mcp_config.json");
    CHECK(file("devin", scope::user) == "/h/.config/devin/mcp_config.json");
    CHECK(file("devin", scope::project) == "/p/.devin/mcp_config.json");
    CHECK(file("antigravity", scope::user) == "/h/.gemini/config/mcp_config.json");
    CHECK(file("copilot", scope::user) == "/h/.copilot/mcp-config.json");
    CHECK(file("kiro", scope::project) == "/p/.kiro/settings/mcp.json");
    CHECK(file("lm-studio", scope::project) == "none");
    CHECK(file("goose", scope::user) == "/h/.config/goose/config.yaml");
    CHECK(file("cline", scope::user) == "/h/.cline/data/settings/cline_mcp_settings.json");
    CHECK(file("vscode", scope::user) == "/h/.config/Code/User/mcp.json");
    CHECK(file("codex", scope::project) == "/p/.codex/config.toml");
    paths.variables = {{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/x"}, {"CLAUDE_CONFIG_DIR", "/c"}, {"CODEX_HOME", "/o"}};
    CHECK(file("claude-code", scope::user) == "/c/.claude.json");
    CHECK(file("codex", scope::user) == "/o/config.toml");
    CHECK(file("zed", scope::user) == "/x/zed/settings.json");
    CHECK(file("opencode", scope::user) == "/x/opencode/opencode.json");
    paths.variables.clear();
    CHECK_THROWS_AS(file("cursor", scope::user), std::runtime_error);
}

TEST_CASE("a line that is shown holds no bearer token")
{
    const auto shown = masked_line("\"Bearer abc\", \"Bearer ${VARIABLE}\"");
    CHECK(shown == "\"Bearer …\", \"Bearer ${VARIABLE}\"");
    CHECK(masked_line("Bearer ") == "Bearer …");
    CHECK(masked_line("none") == "none");
}
