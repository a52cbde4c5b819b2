#include "config/settings.hpp"
#include "test/runtime/config/config_case.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using test::config_case;
using test::holds;

TEST_CASE("an unknown key in custom.env stops the start and names the place and the nearest known key")
{
    config_case c;
    c.env_file("\nBASH_TIMEOUT_MAXX=5\n");
    CHECK(holds(c.refusal(), "BASH_TIMEOUT_MAXX"));
    CHECK(holds(c.refusal(), "custom.env:2"));
    CHECK(holds(c.refusal(), "the nearest is BASH_TIMEOUT_MAX"));
}

TEST_CASE("an unknown key in config.toml stops the start and names the place")
{
    config_case c;
    c.toml_file("[server]\nhost = \"0.0.0.0\"\nprot = 80\n");
    CHECK(holds(c.refusal(), "server.prot"));
    CHECK(holds(c.refusal(), "config.toml:3"));
    CHECK(holds(c.refusal(), "the nearest is MCP_PORT"));
}

TEST_CASE("an unknown key on the command line stops the start")
{
    config_case c;
    c.from.command_line = {{"MCP_PROT", "1", "--set"}};
    CHECK(holds(c.refusal(), "MCP_PROT (--set)"));
    CHECK(holds(c.refusal(), "MCP_PORT"));
}

TEST_CASE("a bad value stops the start with key, value, place and what is allowed")
{
    config_case c;
    c.env_file("MCP_PORT=70000\n");
    CHECK(holds(c.refusal(), "MCP_PORT=70000"));
    CHECK(holds(c.refusal(), "custom.env:1"));
    CHECK(holds(c.refusal(), "a whole number from 0 to 65535"));
}

TEST_CASE("a list of commas alone is refused, because an empty list often means everything")
{
    for (const auto* name : {"MCP_AUTH_TOKENS", "AUTH_ISSUERS", "WEB_ALLOWED_DOMAINS", "MCP_ALLOWED_HOSTS",
                             "AUTH_ADMINS", "BASH_ALLOWED_COMMANDS", "MCP_TRUSTED_PROXIES"})
        for (const auto* value : {",", " , ", ",,"}) {
            config_case c;
            c.from.command_line = {{name, value, "--set"}};
            INFO(name);
            CHECK(holds(c.refusal(), name));
            CHECK(holds(c.refusal(), "commas without a word"));
        }
}

TEST_CASE("an address where a host is wanted, and the other way round, is refused with the form to write")
{
    const std::vector<std::array<std::string, 3>> cases{
        {"MCP_PUBLIC_URL", "tools.example.net/x", "write https://tools.example.net/x"},
        {"WEB_SEARCH_URL", "searx.local:8080", "write https://searx.local:8080"},
        {"SANDBOX_NETWORK", "https://pypi.example/simple", "write pypi.example in place of"},
        {"SANDBOX_NETWORK_ALLOWED", "a.example,http://*.b.example:8080", "write *.b.example:8080 in place of"},
        {"WEB_ALLOWED_DOMAINS", "*,!http://bad.example/", "write !bad.example in place of"},
        {"WEB_ALLOWED_PRIVATE", "box.local/", "write box.local in place of"},
        {"MCP_ALLOWED_HOSTS", "https://mcp.example.net", "write mcp.example.net in place of"},
        {"MCP_ALLOWED_ORIGINS", "localhost:5173", "write https://localhost:5173 or http://localhost:5173"},
        {"MCP_PUBLIC_URL", "https://mcp.example.net:70000/x", "a number from 1 to 65535"},
        {"PYPI_INDEX_URL", "https://me:pass@pypi.local:http/simple", "a number from 1 to 65535"},
        {"SANDBOX_NETWORK_ALLOWED", "*,pypi.example:https", "pypi.example:https has no such port"},
        {"WEB_ALLOWED_PRIVATE", "10.0.0.0/8:0", "10.0.0.0/8:0 has no such port"},
        {"MCP_ALLOWED_ORIGINS", "http://localhost:5173/app", "write http://localhost:5173 in place of"}};
    for (const auto& [name, value, advice] : cases) {
        config_case c;
        c.from.command_line = {{name, value, "--set"}};
        INFO(name << "=" << value << ": " << c.refusal());
        CHECK(holds(c.refusal(), advice));
    }
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{"WEB_ALLOWED_PRIVATE", "10.0.0.0/8,box:80"},
                                                          {"WEB_ALLOWED_PRIVATE", "10.0.0.0/8:443,fd00::1,[::1]:8080"},
                                                          {"MCP_PUBLIC_URL", "http://[::1]:8000/x"},
                                                          {"MCP_PUBLIC_URL", "HTTPS://mcp.example.net/x"},
                                                          {"MCP_ALLOWED_ORIGINS", "*"},
                                                          {"MCP_ALLOWED_ORIGINS", "HTTPS://App.Example/,null"}}) {
        config_case c;
        c.from.command_line = {{name, value, "--set"}};
        INFO(name << "=" << value);
        CHECK(c.refusal().empty());
    }
}

TEST_CASE("each kind of value refuses what it does not allow")
{
    const std::vector<std::pair<std::string, std::string>> bad{
        {"MCP_PORT", "-1"},
        {"MCP_PORT", "80x"},
        {"MCP_PORT", ""},
        {"MCP_HOST", ""},
        {"MCP_HOST", "a b"},
        {"DEBUG", "perhaps"},
        {"LOG_LEVEL", "loud"},
        {"LOG_FORMAT", "xml"},
        {"BASH_TIMEOUT_MAX", "0"},
        {"BASH_TIMEOUT_MAX", "-3"},
        {"BASH_TIMEOUT_MAX", "1e3"},
        {"BASH_TIMEOUT_MAX", "1.2345"},
        {"BASH_TIMEOUT_MAX", "inf"},
        {"PYTHON_INTERPRETER", "py"},
        {"BASH_ALLOWED_COMMANDS", "ls,/bin/sh"},
        {"BASH_ALLOWED_COMMANDS", "ls,*"},
        {"BASH_ALLOWED_COMMANDS", "ls,.."},
        {"FILE_ALLOWED_EXTENSIONS", "a/b"},
        {"FILE_MAX_SIZE_MB", "99999999999999999999"},
        {"PYPI_INDEX_URL", "ftp://x"},
        {"SANDBOX_BACKEND", "docker"},
        {"HTTP_MAX_BODY_MB", "0"},
        {"SANDBOX_ROOT", ""},
    };
    for (const auto& [key, value] : bad) {
        config_case c;
        c.from.variables[key] = value;
        INFO(key << "=" << value);
        CHECK(holds(c.refusal(), key + "=" + value + " (environment)"));
    }
}

TEST_CASE("a default time above the maximum is refused when it was chosen, else it follows the maximum")
{
    for (const std::string tool : {"BASH", "PYTHON"}) {
        config_case c;
        c.from.variables[tool + "_TIMEOUT_MAX"] = "10";
        CHECK(c.refusal().empty());
        CHECK(c.load().values.bash_timeout_default <= c.load().values.bash_timeout_max);
        CHECK(c.load().values.python_timeout_default <= c.load().values.python_timeout_max);
        c.from.variables[tool + "_TIMEOUT_DEFAULT"] = "11";
        CHECK(holds(c.refusal(), tool + "_TIMEOUT_DEFAULT=11 (environment)"));
    }
}

TEST_CASE("a secret never shows in a refusal")
{
    config_case c;
    c.env_file("MCP_AUTH_TOKENS=anna=tooshort\n");
    CHECK(holds(c.refusal(), "MCP_AUTH_TOKENS=***"));
    CHECK_FALSE(holds(c.refusal(), "tooshort"));
    c.env_file("MCP_AUTH_TOKENS=anna=0123456789abcdef,anna=0123456789abcdeX\n");
    CHECK(holds(c.refusal(), "MCP_AUTH_TOKENS=***"));
}

TEST_CASE("an unknown variable of the environment that looks like ours gives a warning, no refusal")
{
    config_case c;
    c.from.variables["BASH_TIMEOUT_MAXIMUM"] = "5";
    const auto loaded = c.load();
    REQUIRE(loaded.warnings.size() == 1);
    CHECK(holds(loaded.warnings[0], "BASH_TIMEOUT_MAXIMUM"));
    CHECK(holds(loaded.warnings[0], "BASH_TIMEOUT_MAX"));
}

TEST_CASE("variables of bash, Python images and proxies give no warning")
{
    config_case c;
    c.from.variables["BASH_ENV"] = c.from.variables["BASH_FUNC_x%%"] = c.from.variables["PYTHON_VERSION"] = "x";
    c.from.variables["HTTP_PROXY"] = c.from.variables["PATH"] = "x";
    CHECK(c.load().warnings.empty());
}
