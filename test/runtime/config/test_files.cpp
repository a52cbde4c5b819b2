#include "config/config_error.hpp"
#include "config/load_settings.hpp"
#include "test/runtime/config/config_case.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using test::config_case;
using test::holds;

namespace {

std::string value_of(std::string_view line)
{
    const auto assignments = parse_env_file(line, "x.env");
    return assignments.size() == 1 ? assignments[0].key + "|" + assignments[0].value : "not one assignment";
}

std::string env_refusal(std::string_view text)
{
    try {
        parse_env_file(text, "x.env");
    } catch (const config_error& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("custom.env knows quotes, comments, export and line ends of other systems")
{
    CHECK(value_of("A=b") == "A|b");
    CHECK(value_of("A=b c") == "A|b c");
    CHECK(value_of(" A = b # comment") == "A|b");
    CHECK(value_of("A=b#c") == "A|b#c");
    CHECK(value_of("A=#c") == "A|");
    CHECK(value_of("A=") == "A|");
    CHECK(value_of("export A=b\r\n") == "A|b");
    CHECK(value_of("A='b # \"c\"' # d") == "A|b # \"c\"");
    CHECK(value_of("A=\"b\\\"\\\\\\nc\"") == "A|b\"\\\nc");
    CHECK(value_of("\xef\xbb\xbf"
                   "A=b") == "A|b");
    CHECK(value_of("A=b=c") == "A|b=c");
    CHECK(parse_env_file("# only\n\n   \n#", "x.env").empty());
}

TEST_CASE("custom.env refuses what is no assignment, with the line")
{
    CHECK(holds(env_refusal("A=1\nnonsense\n"), "x.env:2"));
    CHECK(holds(env_refusal("=x"), "x.env:1"));
    CHECK(holds(env_refusal("A B=x"), "x.env:1"));
    CHECK(holds(env_refusal("A=\"x"), "closing quote"));
    CHECK(holds(env_refusal("A='x' y"), "after the closing quote"));
}

TEST_CASE("config.toml of a server with other sections is understood")
{
    config_case c;
    c.toml_file(R"(
[server]
host = "0.0.0.0"
port = 8123
[docker]
default_image = "python-sandbox:latest"
open_mount_directory = true
container_work_dir = "/app/results"
[logging]
level = "INFO"
log_file = "./logs/mcp_sandbox.log"
use_structured_format = true
[mirror]
pypi_index_url = "https://index.example/simple"
)");
    const auto config = c.load().values;
    CHECK(config.host == "0.0.0.0");
    CHECK(config.port == 8123);
    CHECK(config.sandbox_default_image == "python-sandbox:latest");
    CHECK(config.sandbox_open_mount);
    CHECK(config.sandbox_work_dir == "/app/results");
    CHECK(config.log_file == "./logs/mcp_sandbox.log");
    CHECK(config.log_format == "json");
    CHECK(config.pypi_index_url == "https://index.example/simple");
}

TEST_CASE("every variable has a TOML key, alone or under a table")
{
    config_case c;
    c.toml_file(R"(
bash_timeout_max = 60.5
file_allowed_extensions = ["txt", "PY", ".log", ""]
[bash]
allowed_commands = ["ls", "cat"]
[limits]
http_max_body_mb = 32
[tools]
enable_web = false
)");
    const auto config = c.load().values;
    CHECK(config.bash_timeout_max == std::chrono::milliseconds(60'500));
    CHECK(config.file_allowed_extensions == std::vector<std::string>{"txt", "py", "log", ""});
    CHECK(config.bash_allowed_commands == std::vector<std::string>{"ls", "cat"});
    CHECK(config.max_body_bytes == 32u << 20);
    CHECK_FALSE(config.enable_web);
}

TEST_CASE("config.toml that is no TOML, or holds a value of another kind, is refused with the line")
{
    config_case c;
    c.toml_file("a = 1\nb = = 2\n");
    CHECK(holds(c.refusal(), "config.toml:2"));
    c.toml_file("mcp_port = 1979-05-27\n");
    CHECK(holds(c.refusal(), "config.toml:1"));
    c.toml_file("file_allowed_extensions = [[\"a\"]]\n");
    CHECK(holds(c.refusal(), "config.toml:1"));
}
