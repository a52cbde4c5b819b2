#include "config/settings.hpp"
#include "test/runtime/config/config_case.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using test::config_case;
using test::holds;

namespace {

std::string refusal_of(const std::string& text)
{
    config_case one;
    one.toml_file(text);
    return one.refusal();
}

}  // namespace

TEST_CASE("config.toml names upstream servers")
{
    config_case one;
    one.from.variables["GITHUB_TOKEN"] = "secret one";
    const auto file = one.write("token", "secret two\n");
    one.toml_file(R"(
[upstream.github]
url = "https://mcp.example.com/mcp"
headers = { Authorization = "Bearer ${env:GITHUB_TOKEN}", X-Key = "${file:)" +
                  file.string() + R"(}" }
tools = ["*", "!delete_*"]
principals = ["alice", "team-*"]
timeout = 2.5

[server]
port = 9000

[upstream.files]
command = ["npx", "-y", "a,b"]
env = { TOKEN = "x" }
image = "node:22-slim"
network = ["api.example.com"]

[upstream.plain]
command = "python3  server.py"
)");
    const auto loaded = one.load();
    REQUIRE(loaded.values.upstreams.size() == 3);
    const auto& github = loaded.values.upstreams[0];
    CHECK(github.name == "github");
    CHECK(github.url == "https://mcp.example.com/mcp");
    CHECK(github.headers == upstream_entry::secrets{{"Authorization", "Bearer secret one"}, {"X-Key", "secret two"}});
    CHECK(github.timeout == std::chrono::milliseconds(2500));
    CHECK(github.offers("read"));
    CHECK_FALSE(github.offers("delete_all"));
    CHECK(github.serves("alice"));
    CHECK(github.serves("team-b"));
    CHECK_FALSE(github.serves(""));
    CHECK_FALSE(github.serves("bob"));
    const auto& files = loaded.values.upstreams[1];
    CHECK(files.command == std::vector<std::string>{"npx", "-y", "a,b"});
    CHECK(files.env == upstream_entry::secrets{{"TOKEN", "x"}});
    CHECK(files.image == "node:22-slim");
    CHECK(holds(files.shown(), "; image node:22-slim; network api.example.com"));
    CHECK(files.network == std::vector<std::string>{"api.example.com"});
    CHECK(files.serves(""));
    CHECK(files.offers("anything"));
    CHECK(loaded.values.upstreams[2].command == std::vector<std::string>{"python3", "server.py"});
    CHECK(loaded.values.port == 9000);
    CHECK(loaded.secret_variables == std::vector<std::string>{"GITHUB_TOKEN"});
}

TEST_CASE("entries of upstream servers that cannot be used are refused with key and line")
{
    const auto refused = [](const std::string& text, std::string_view part) {
        const auto refusal = refusal_of("[upstream.one]\n" + text);
        INFO(refusal);
        CHECK(holds(refusal, part));
        CHECK(holds(refusal, "config.toml:"));
    };
    refused("", "either url or command");
    refused("url = \"https://a\"\ncommand = \"b\"", "either url or command");
    refused("url = \"ftp://a\"", "upstream.one.url");
    refused("url = 7", "upstream.one.url");
    refused("url = \"https://a\"\nimage = \"b\"", "upstream.one.image");
    refused("command = \"a\"\nimage = []", "upstream.one.image");
    refused("command = []", "upstream.one.command");
    refused("command = [7]", "upstream.one.command");
    refused("command = \"a\\nb\"", "upstream.one.command");
    refused("url = \"https://a\"\nheaders = { \"A B\" = \"x\" }", "upstream.one.headers.A B");
    refused("url = \"https://a\"\nheaders = { Host = \"x\" }", "upstream.one.headers.Host");
    refused("url = \"https://a\"\nheaders = { Mcp-Session-Id = \"x\" }", "upstream.one.headers.Mcp-Session-Id");
    refused("url = \"https://a\"\nheaders = { A = \"${env:NONE_SUCH}\" }", "NONE_SUCH is not");
    refused("url = \"https://a\"\nheaders = { A = \"${file:relative}\" }", "absolute path");
    refused("url = \"https://a\"\nheaders = { A = \"${other}\" }", "${env:NAME}");
    refused("url = \"https://a\"\nheaders = { A = \"${env:X\" }", "ends with }");
    refused("url = \"https://a\"\nenv = { A = \"x\" }", "beside a command");
    refused("url = \"https://a\"\nnetwork = [\"x\"]", "beside a command");
    refused("command = \"a\"\nheaders = { A = \"x\" }", "beside a url");
    refused("command = \"a\"\nenv = { \"1A\" = \"x\" }", "upstream.one.env.1A");
    refused("url = \"https://a\"\ntimeout = 0", "from 1 to 3600");
    refused("url = \"https://a\"\ntimeout = \"long\"", "from 1 to 3600");
    refused("url = \"https://a\"\ntool = [\"x\"]", "upstream.one.tool");
    refused("url = \"https://a\"\ntool = [\"x\"]", "the nearest is upstream.one.tools");
    refused("url = \"https://a\"\ntools = []", "upstream.one.tools");
    CHECK(holds(refusal_of("[upstream.One]\nurl = \"https://a\""), "begins with a letter"));
    CHECK(holds(refusal_of("upstream = 7"), "tables [upstream.NAME]"));
    CHECK(holds(refusal_of("[upstream]\none = 7"), "upstream.one"));
}

TEST_CASE("no sentence has the secret of an upstream server")
{
    const auto refusal = refusal_of("[upstream.one]\nurl = \"https://a\"\nheaders = { A = \"very\\nsecret\" }");
    CHECK(holds(refusal, "upstream.one.headers.A"));
    CHECK_FALSE(holds(refusal, "secret"));
}
