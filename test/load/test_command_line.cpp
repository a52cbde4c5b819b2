#include "test/support/catch.hpp"

#include "load/load_command_line.hpp"

#include <string>
#include <vector>

using namespace cmcp::load;

namespace {

std::optional<load_options> options_of(std::vector<std::string> words)
{
    words.insert(words.begin(), "container-mcp-load");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    int status = 0;
    return parse_command_line(static_cast<int>(argv.size()), argv.data(), status);
}

}  // namespace

TEST_CASE("a test has one address or several, in the order in which they are named")
{
    CHECK(options_of({})->target() == "http://127.0.0.1:8000/mcp");
    auto several = options_of({"http://a:1", "-c", "ping", "http://b:2/x", "-t", "sse", "http://c:3?k=1"});
    REQUIRE(several);
    CHECK(several->target() == "http://a:1/sse, http://b:2/x, http://c:3/sse?k=1");
    CHECK_FALSE(options_of({"http://a:1", "b:2"}));
}

TEST_CASE("a stdio server is a command with its arguments")
{
    auto options = options_of({"-t", "stdio", "-s", "4", "--", "container-mcp", "stdio", "--log-level", "error"});
    REQUIRE(options);
    CHECK(options->command == std::vector<std::string>{"container-mcp", "stdio", "--log-level", "error"});
    CHECK(options->servers.size() == 1);
    CHECK_FALSE(options_of({"-t", "stdio"}));
}
