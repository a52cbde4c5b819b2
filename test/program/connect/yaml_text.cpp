#include "connect/yaml_text.hpp"

#include "connect/change.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::connect;

namespace {

const std::string own_lines =
    "  mine:\n    enabled: true\n    type: \"streamable_http\"\n    uri: \"http://h/mcp\"\n    headers: "
    "{\"Authorization\": \"Bearer k\"}\n    envs: {}\n    timeout: 300\n    name: \"mine\"\n";
const std::string users =
    "# of mine\nGOOSE_MODEL: \"a: b\"  # kept\nextensions:\n  # first\n  developer:\n    enabled: true\n"
    "    args: [a,\n      b]\n    text: |\n      mine: no member\n\nlast: 1\n";

std::string with(const std::string& text, const server_entry& server = {"http://h/mcp", "Bearer k", {}})
{
    return changed_text(*find_client("goose"), text, "mine", server);
}

std::string without(const std::string& text) { return changed_text(*find_client("goose"), text, "mine", {}); }

}  // namespace

TEST_CASE("an entry of a YAML file is written, written once, and taken out again, and the rest stays as it is")
{
    CHECK(with("") == "extensions:\n" + own_lines);
    CHECK(with("model: x") == "model: x\nextensions:\n" + own_lines);
    const auto once = with(users);
    CHECK(once == std::string(users).insert(users.find("\nlast"), own_lines));
    CHECK(with(once) == once);
    CHECK(without(once) == users);
    CHECK(without(users) == users);
    CHECK(without(with("extensions: {}\nother: 2\n")) == "extensions: {}\nother: 2\n");
    CHECK(with("extensions:\r\n    a:\r\n        type: x\r\n").find("\r\n    mine:\r\n") != std::string::npos);
}

TEST_CASE("of an entry in a YAML file the user's own members stay, in their place")
{
    const auto own =
        with("extensions:\n  'mine':\n      timeout: 20  # short\n      cmd: x\n      type: stdio\n  b:\n    c: 1\n");
    CHECK(own.find("      timeout: 20  # short\n      type: \"streamable_http\"\n") != std::string::npos);
    CHECK(own.find("cmd") == std::string::npos);
    CHECK(own.find("  b:\n    c: 1\n") != std::string::npos);
    const auto program = with(own, {"", "", {"/bin/it", "stdio"}});
    CHECK(program.find("cmd: \"/bin/it\"\n") != std::string::npos);
    CHECK(program.find("args: [\"stdio\"]\n") != std::string::npos);
    CHECK(program.find("uri") == std::string::npos);
}

TEST_CASE("a YAML file that is written in another way is refused with its line")
{
    for (const char* text :
         {"{extensions: {}}\n", "- a\n", "extensions: {a: {b: 1}}\n", "extensions: &x\n  a:\n    b: 1\n",
          "extensions:\n  a:\n    b: 1\nextensions:\n", "extensions:\n\ta:\n", "oops\n",
          "extensions:\n  mine: {type: x}\n", "extensions:\n  - a\n", "extensions:\n  - a: b\n", "a: 1\n---\nb: 2\n"}) {
        INFO(text);
        CHECK_THROWS_AS(with(text), bad_text);
    }
}
