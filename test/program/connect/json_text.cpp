#include "connect/json_text.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::connect;

namespace {

const json_text::path ours{"mcpServers", "ours"};
const json::value entry = json::object{{"url", "http://h/mcp"}, {"headers", json::object{{"A", "b"}}}};

std::string with_entry(const std::string& text)
{
    json_text edited(text, true);
    edited.set(ours, entry);
    return edited.text();
}

std::string without_entry(const std::string& text)
{
    json_text edited(text, true);
    edited.remove(ours);
    return edited.text();
}

json::value read(std::string text)
{
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
    json::parse_options options;
    options.allow_comments = options.allow_trailing_commas = true;
    return json::parse(text, {}, options);
}

}  // namespace

TEST_CASE("an entry is added in the file's own indentation, and comments stay")
{
    const std::string before = R"({
    // what I use
    "editor.tabs": 4, /* wide */
    "mcpServers": {
        "other": { "command": "x" } // mine
        // the end
    }
}
)";
    CHECK(with_entry(before) == R"({
    // what I use
    "editor.tabs": 4, /* wide */
    "mcpServers": {
        "other": { "command": "x" }, // mine
        "ours": {
            "url": "http://h/mcp",
            "headers": {
                "A": "b"
            }
        }
        // the end
    }
}
)");
}

TEST_CASE("the objects on the way are made where they are missing")
{
    const std::string whole =
        "{\n  \"mcpServers\": {\n    \"ours\": {\n      \"url\": \"http://h/mcp\",\n      "
        "\"headers\": {\n        \"A\": \"b\"\n      }\n    }\n  }\n}\n";
    CHECK(with_entry("") == whole);
    CHECK(with_entry(" \n") == whole);
    CHECK(with_entry("{}\n") == whole);
    CHECK(with_entry("{ }\n") == whole);
    CHECK(with_entry("{\n}\n") == whole);
    CHECK(with_entry("{\n  \"mcpServers\": {}\n}\n") == whole);
    CHECK(with_entry("{\n  \"mcpServers\": {\n  }\n}\n") == whole);
    CHECK(with_entry("{\n\t\"a\": 1\n}") ==
          "{\n\t\"a\": 1,\n\t\"mcpServers\": {\n\t\t\"ours\": {\n\t\t\t\"url\": \"http://h/mcp\",\n\t\t\t\"headers\": "
          "{\n\t\t\t\t\"A\": \"b\"\n\t\t\t}\n\t\t}\n\t}\n}");
}

TEST_CASE("a file on one line stays on one line, and line ends stay those of the file")
{
    CHECK(with_entry(R"({"mcpServers":{"o":{}}})") ==
          R"({"mcpServers":{"o":{}, "ours": { "url": "http://h/mcp", "headers": { "A": "b" } }}})");
    const auto lines = with_entry("{\r\n  \"a\": 1\r\n}\r\n");
    for (std::size_t at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 1))
        CHECK(lines[at - 1] == '\r');
    CHECK(with_entry("\xef\xbb\xbf{}").starts_with("\xef\xbb\xbf{"));
}

TEST_CASE("whatever a file looks like, adding changes the entry alone, and removing gives the file back")
{
    const std::string text = GENERATE(
        as<std::string>(), "{\"mcpServers\": {\"a\": {}}}", "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}\n",
        "{\n  \"mcpServers\": {\n    \"a\": {},\n  },\n}\n",
        "{\n  \"mcpServers\": {\n    \"a\": {} // x, {\"\n  }\n}\n",
        "{\n  \"mcpServers\": {\n    \"a\": {}, // x\n    // y\n  } /* } */\n}\n",
        "{\n  \"mcpServers\": { \"a\": {},\n    \"b\": [\"}\", \"\\\"\", \"//\"] }\n}\n",
        "{\n  \"mcpServers\": {\n    \"a\": {} /* x */ , /* y\n z */\n    \"b\": 1\n  }\n}\n",
        "// head\n{\n\t\"mcpServers\": {\n\t\t\"a\": {}\n\t}\n}\n// tail",
        "\r\n{\r\n \"mcpServers\": {\r\n  \"a\": 1\r\n }\r\n}",
        "{\"x\": {\"ours\": 1}, \"mcpServers\": {\"\\u0061\": null}}", "\xef\xbb\xbf{\"mcpServers\": {\"a\": 1}}");
    const auto added = with_entry(text);
    json::value wanted = read(text);
    wanted.as_object()["mcpServers"].as_object()["ours"] = entry;
    CHECK(read(added) == wanted);
    CHECK(without_entry(added) == text);
    CHECK(with_entry(added) == added);
}

TEST_CASE("an entry that is there is replaced in its place")
{
    const std::string before =
        "{\n  \"mcpServers\": {\n    \"ours\": { \"url\": \"old\" }, // here\n    \"z\": 1\n  }\n}\n";
    const auto after = with_entry(before);
    CHECK(after.find("\"ours\"") < after.find("// here"));
    CHECK(after.find("// here") < after.find("\"z\""));
    CHECK(read(after).at("mcpServers").at("ours") == entry);
    CHECK(without_entry(after) == "{\n  \"mcpServers\": {\n    \"z\": 1\n  }\n}\n");
}

TEST_CASE("of members with one name the last counts, and all of them are removed")
{
    const std::string before = R"({"mcpServers": {"ours": 1, "b": 2, "ours": 3}})";
    json_text edited(before, false);
    edited.set(ours, "new");
    CHECK(edited.text() == R"({"mcpServers": {"ours": 1, "b": 2, "ours": "new"}})");
    CHECK(without_entry(before) == R"({"mcpServers": {"b": 2}})");
    CHECK(without_entry(R"({"mcpServers": {"ours": 1}})") == R"({"mcpServers": {}})");
}

TEST_CASE("text that is no JSON is refused with its line")
{
    using Catch::Matchers::StartsWith;
    const auto refusal = [](const std::string& text, bool comments) {
        try {
            const json_text edited(text, comments);
        } catch (const bad_text& reason) {
            return std::string(reason.what());
        }
        return std::string("taken");
    };
    CHECK_THAT(refusal("{\n  \"a\": 1,\n  \"b\": oops\n}", true), StartsWith("line 3: this is not JSON"));
    CHECK_THAT(refusal("{\n  \"a\": 1\n", true), StartsWith("line 3: this is not JSON"));
    CHECK_THAT(refusal("{\n  // no\n}", false), StartsWith("line 2: a comment"));
    CHECK_THAT(refusal("{\n  \"a\": 1,\n}", false), StartsWith("line 3: this is not JSON"));
    CHECK_THAT(refusal("[]", true), StartsWith("line 1: this is not a JSON object"));
    CHECK_THAT(refusal("{}\n{}", true), StartsWith("line 2: this is not JSON"));
    json_text edited("{\n  \"mcpServers\": [1]\n}", true);
    CHECK_THROWS_WITH(edited.set(ours, 1), StartsWith("line 2: \"mcpServers\" is no object"));
}
