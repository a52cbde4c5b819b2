#include "config/setting.hpp"
#include "config/settings.hpp"
#include "test/runtime/config/config_case.hpp"
#include "test/support/catch.hpp"
#include "text/ascii.hpp"

#include <set>

using namespace cmcp;

TEST_CASE("each setting stands once in the table and has a description")
{
    std::set<std::string_view> names;
    for (const auto& entry : setting_table()) {
        INFO(entry.name);
        CHECK(names.insert(entry.name).second);
        CHECK_FALSE(entry.description.empty());
        CHECK_FALSE(entry.topic.empty());
        CHECK(upper_case(entry.name) == entry.name);
    }
}

TEST_CASE("there are few enough settings to read them all: another one takes the place of one that nobody needs")
{
    CHECK(setting_table().size() <= 150);
}

TEST_CASE("what a setting prints is what it reads")
{
    const settings defaults = test::config_case().load().values;
    for (const auto& entry : setting_table()) {
        INFO(entry.name);
        settings changed = defaults;
        const std::string printed = entry.print(defaults);
        entry.parse(changed, printed);
        CHECK(entry.print(changed) == printed);
    }
}

TEST_CASE("the default of a setting is printed as its row says it")
{
    const settings defaults;
    for (const auto& entry : setting_table()) {
        INFO(entry.name);
        CHECK(entry.print(defaults) == entry.by_default);
    }
}

TEST_CASE("the settings of the contract are all there")
{
    for (const char* name :
         {"MCP_HOST", "MCP_PORT", "DEBUG", "LOG_LEVEL", "SANDBOX_ROOT", "BASH_ALLOWED_COMMANDS", "BASH_TIMEOUT_DEFAULT",
          "BASH_TIMEOUT_MAX", "PYTHON_MEMORY_LIMIT", "PYTHON_TIMEOUT_DEFAULT", "PYTHON_TIMEOUT_MAX", "FILE_MAX_SIZE_MB",
          "FILE_ALLOWED_EXTENSIONS", "WEB_TIMEOUT_DEFAULT", "WEB_ALLOWED_DOMAINS", "TOOLS_ENABLE_SYSTEM",
          "TOOLS_ENABLE_FILE", "TOOLS_ENABLE_WEB", "TOOLS_ENABLE_SANDBOX"}) {
        INFO(name);
        CHECK(find_setting(name));
        CHECK(find_toml_setting(lower_case(name)));
    }
}

TEST_CASE("a mirror's password is not printed")
{
    settings config;
    find_setting("PYPI_INDEX_URL")->parse(config, "https://me:secret@host.example/simple");
    CHECK(find_setting("PYPI_INDEX_URL")->print(config) == "https://***@host.example/simple");
    CHECK(config.pypi_index_url == "https://me:secret@host.example/simple");
}

TEST_CASE("lists, extensions and tokens are read as documented")
{
    settings config;
    find_setting("FILE_ALLOWED_EXTENSIONS")->parse(config, "");
    CHECK(config.file_allowed_extensions.empty());
    find_setting("FILE_ALLOWED_EXTENSIONS")->parse(config, "txt,");
    CHECK(config.file_allowed_extensions == std::vector<std::string>{"txt", ""});
    find_setting("BASH_ALLOWED_COMMANDS")->parse(config, " ls , cat,, ");
    CHECK(config.bash_allowed_commands == std::vector<std::string>{"ls", "cat"});
    find_setting("MCP_AUTH_TOKENS")->parse(config, "anna=0123456789abcdef=,ben=fedcba9876543210");
    REQUIRE(config.auth_tokens.size() == 2);
    CHECK(config.auth_tokens[0] == std::pair<std::string, std::string>{"anna", "0123456789abcdef="});
}

TEST_CASE("settings that a reload changes are marked, also where they are secret")
{
    CHECK(find_setting("LOG_LEVEL")->live);
    CHECK(find_setting("MCP_AUTH_TOKENS")->live);
    CHECK(find_setting("MCP_AUTH_TOKENS")->secret);
    CHECK(find_setting("WEB_ALLOWED_DOMAINS")->live);
    CHECK_FALSE(find_setting("MCP_PORT")->live);
}
