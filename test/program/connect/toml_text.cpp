#include "connect/toml_text.hpp"
#include "test/support/catch.hpp"
#include "text/toml_library.hpp"

using namespace cmcp;
using namespace cmcp::connect;

namespace {

const toml_text::path our_table{"mcp_servers", "ours"};
const json::object members{{"url", "http://h/mcp"}, {"http_headers", json::object{{"Authorization", "Bearer x"}}}};
const std::vector<std::string> managed{"url", "http_headers", "command", "args"};
const std::string ours_text =
    "[mcp_servers.ours]\nurl = \"http://h/mcp\"\nhttp_headers = { Authorization = \"Bearer x\" }\n";

std::string with_table(const std::string& text)
{
    toml_text edited(text);
    edited.set(our_table, members, managed);
    return edited.text();
}

std::string without_table(const std::string& text)
{
    toml_text edited(text);
    edited.remove(our_table);
    return edited.text();
}

}  // namespace

TEST_CASE("a table is added behind those of its kind, else at the end")
{
    CHECK(with_table("") == ours_text);
    CHECK(with_table("model = \"x\" # mine\n") == "model = \"x\" # mine\n\n" + ours_text);
    CHECK(with_table("model = \"x\"") == "model = \"x\"\n\n" + ours_text);
    CHECK(with_table("[mcp_servers.a]\ncommand = \"a\"\n\n# about b\n[b]\nc = 1\n") ==
          "[mcp_servers.a]\ncommand = \"a\"\n\n" + ours_text + "\n# about b\n[b]\nc = 1\n");
}

TEST_CASE("a table is replaced in its place, and the user's own members and tables below it stay")
{
    const std::string before =
        "[mcp_servers.\"ours\"] # the server\ncommand = \"old\"\nargs = [\n  \"a\", # ]\n  \"[b]\",\n]\nenabled = "
        "false\n\n"
        "[mcp_servers.ours.http_headers]\nA = '''\n[not.a.header]\n'''\n\n[mcp_servers.ours.tools.x]\napproval = "
        "\"auto\"\n\n[z]\n";
    const auto after = with_table(before);
    CHECK(after.find("old") == std::string::npos);
    CHECK(after.find("not.a.header") == std::string::npos);
    const toml::table parsed = toml::parse(after);
    CHECK(parsed["mcp_servers"]["ours"]["url"] == "http://h/mcp");
    CHECK(parsed["mcp_servers"]["ours"]["http_headers"]["Authorization"] == "Bearer x");
    CHECK(parsed["mcp_servers"]["ours"]["enabled"] == false);
    CHECK(parsed["mcp_servers"]["ours"]["tools"]["x"]["approval"] == "auto");
    CHECK(after.find("# the server") != std::string::npos);
    CHECK(with_table(after) == after);
    CHECK(without_table(after) == "[z]\n");
}

TEST_CASE("whatever a file looks like, removing the table that was added gives it back")
{
    const std::string text =
        GENERATE(as<std::string>(), "", "a = 1\n", "# only a comment\n", "[mcp_servers.a]\nb = 1\n", "[mcp_servers]\n",
                 "[mcp_servers.a]\nb = 1\n\n[other]\nc = \"\"\"x\n[mcp_servers.ours]\n\"\"\"\n",
                 "[[list]]\na = 1\n\n[[list]]\na = 2\n", "\r\n[a]\r\nb = 1\r\n", "\"q.k\".\"=\" = 'a#b' # [c]\n");
    const auto added = with_table(text);
    const toml::table parsed = toml::parse(added);
    CHECK(parsed["mcp_servers"]["ours"]["url"] == "http://h/mcp");
    CHECK(without_table(added) == text);
}

TEST_CASE("text that cannot be edited is refused with its line")
{
    using Catch::Matchers::StartsWith;
    CHECK_THROWS_WITH(toml_text("a = 1\nb = = 2\n"), StartsWith("line 2: this is not TOML"));
    const std::string text = GENERATE(as<std::string>(), "\n[mcp_servers]\nours = { url = \"x\" }\n",
                                      "\n\nmcp_servers = { ours = { url = \"x\" } }\n",
                                      "\n[mcp_servers]\nours.url = \"x\"\n", "\n\n[[mcp_servers.ours]]\nurl = \"x\"\n");
    toml_text edited(text);
    CHECK_THROWS_WITH(edited.set(our_table, members, managed), StartsWith("line 3: this writes [mcp_servers.ours]"));
    CHECK_THROWS_WITH(edited.remove(our_table), StartsWith("line 3: this writes [mcp_servers.ours]"));
    CHECK(edited.text() == text);
}
