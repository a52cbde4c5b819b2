#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "test/runtime/config/config_case.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using test::config_case;

TEST_CASE("without any source the defaults are in force")
{
    const config_case c;
    const auto loaded = c.load();
    CHECK(loaded.values.host == "127.0.0.1");
    CHECK(loaded.values.port == 8000);
    CHECK(loaded.values.file_allowed_extensions == std::vector<std::string>{"txt", "md", "csv", "json", "py"});
    CHECK(loaded.values.bash_allowed_commands.size() > 40);
    CHECK(loaded.values.sandbox_root == c.folder / ".local/share/container-mcp");
    CHECK(loaded.origins.empty());
    CHECK(loaded.warnings.empty());
}

TEST_CASE("command line beats environment beats custom.env beats config.toml")
{
    config_case c;
    c.toml_file("[server]\nport = 1\n");
    CHECK(c.load().values.port == 1);
    CHECK(c.load().origins.at("MCP_PORT") == (c.folder / "config.toml").string() + ":2");
    c.env_file("# comment\nMCP_PORT=2\n");
    CHECK(c.load().values.port == 2);
    CHECK(c.load().origins.at("MCP_PORT") == (c.folder / "custom.env").string() + ":2");
    c.from.variables["MCP_PORT"] = "3";
    CHECK(c.load().values.port == 3);
    CHECK(c.load().origins.at("MCP_PORT") == "environment");
    c.from.command_line = {{"MCP_PORT", "4", "--port"}};
    CHECK(c.load().values.port == 4);
    CHECK(c.load().origins.at("MCP_PORT") == "--port");
}

TEST_CASE("the environment names the files when the command line does not")
{
    config_case c;
    c.from.variables["CONTAINER_MCP_ENV"] = c.write("a.env", "MCP_PORT=5\n").string();
    c.from.variables["CONTAINER_MCP_CONFIG"] = c.write("a.toml", "mcp_host = \"::1\"\n").string();
    CHECK(c.load().values.port == 5);
    CHECK(c.load().values.host == "::1");
    c.env_file("MCP_PORT=6\n");
    CHECK(c.load().values.port == 6);
}

TEST_CASE("a file that is named but missing stops the start")
{
    config_case c;
    c.from.env_file = c.folder / "none.env";
    CHECK(test::holds(c.refusal(), "none.env"));
}

TEST_CASE("without trust in the working folder the files come from the user's configuration folder")
{
    config_case c;
    c.write(".config/container-mcp/custom.env", "MCP_PORT=7\n");
    CHECK(c.load().values.port == 7);
    c.from.variables["XDG_CONFIG_HOME"] = (c.folder / "elsewhere").string();
    CHECK(c.load().values.port == 8000);
    c.write("elsewhere/container-mcp/config.toml", "mcp_port = 8\n");
    CHECK(c.load().values.port == 8);
}

TEST_CASE("an empty file is a configuration without settings")
{
    config_case c;
    c.env_file("");
    c.toml_file("");
    CHECK(c.refusal().empty());
}

TEST_CASE("DEBUG logs everything, whatever level is set beside it")
{
    config_case c;
    c.from.variables["DEBUG"] = "true";
    CHECK(c.load().values.log_level == "DEBUG");
    for (const char* level : {"INFO", "error"}) {
        c.from.variables["LOG_LEVEL"] = level;
        CHECK(c.load().values.log_level == "DEBUG");
        CHECK(c.load().origins.at("LOG_LEVEL") == "DEBUG=true");
    }
    c.from.variables["DEBUG"] = "false";
    CHECK(c.load().values.log_level == "ERROR");
}

TEST_CASE("the sandbox root follows XDG_DATA_HOME, and without HOME the setting to make is named")
{
    config_case c;
    c.from.variables = {{"XDG_DATA_HOME", "/data"}};
    CHECK(c.load().values.sandbox_root == "/data/container-mcp");
    c.from.variables = {};
    CHECK(test::holds(c.refusal(), "set SANDBOX_ROOT"));
    c.from.variables = {{"SANDBOX_ROOT", "/srv/sandbox"}};
    CHECK(c.load().values.sandbox_root == "/srv/sandbox");
}

TEST_CASE("the sandbox root is created for its owner alone")
{
    config_case c;
    settings config;
    config.sandbox_root = c.folder / "a/b";
    prepare_sandbox_root(config);
    CHECK(std::filesystem::status(config.sandbox_root).permissions() == std::filesystem::perms::owner_all);
    config.sandbox_root = c.write("file", "x");
    CHECK_THROWS_AS(prepare_sandbox_root(config), config_error);
}
