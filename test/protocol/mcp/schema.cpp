#include "mcp/arguments/schema_validator.hpp"
#include "mcp/tool_registry.hpp"
#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::string check(std::string_view definition, std::string_view arguments)
{
    auto value = parse(arguments);
    return schema_validator(parse(definition)).check(value);
}

}  // namespace

TEST_CASE("arguments that fit the schema are accepted")
{
    CHECK(check(R"({"type":"object"})", R"({"anything":1})").empty());
    CHECK(check(R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"]})", R"({"a":"x"})").empty());
}

TEST_CASE("a misfit names the argument and the reason")
{
    constexpr auto schema = R"({"type":"object","additionalProperties":false,"required":["path"],"properties":{
        "path":{"type":"string","minLength":1,"maxLength":5,"pattern":"^[a-z]*$"},
        "timeout":{"type":"number","exclusiveMinimum":0,"maximum":99.5},
        "mode":{"type":"string","enum":["a","b"]},
        "names":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2},
        "inner":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}})";
    CHECK(check(schema, "{}") == "argument `path` is missing");
    CHECK(check(schema, R"({"path":5})") == "argument `path` must be a string, not a number");
    CHECK(check(schema, R"({"path":""})") == "argument `path` must have at least 1 character(s)");
    CHECK(check(schema, R"({"path":"abcdef"})") == "argument `path` must be no longer than 5 characters");
    CHECK(check(schema, R"({"path":"A"})") == R"(argument `path` must match the pattern "^[a-z]*$")");
    CHECK(check(schema, R"({"path":"a","timeout":0})") == "argument `timeout` must be > 0");
    CHECK(check(schema, R"({"path":"a","timeout":100})") == "argument `timeout` must be <= 99.5");
    CHECK(check(schema, R"({"path":"a","mode":"c"})") == R"(argument `mode` must be one of "a", "b")");
    CHECK(check(schema, R"({"path":"a","names":[]})") == "argument `names` must hold at least 1 item(s)");
    CHECK(check(schema, R"({"path":"a","names":["x",null]})") == "argument `names[1]` must be a string, not a null");
    CHECK(check(schema, R"({"path":"a","inner":{}})") == "argument `inner.n` is missing");
    CHECK(check(schema, R"({"path":"a","inner":{"n":true}})") ==
          "argument `inner.n` must be an integer, not a boolean");
    CHECK(check(schema, R"({"path":"a","other":1})") ==
          "argument `other` is not known; known: `path`, `timeout`, `mode`, `names`, `inner`");
}

TEST_CASE("a text too long for a pattern is refused without running it")
{
    const auto text = std::string(1'000'000, 'a');
    const auto sentence = check(R"({"type":"object","properties":{"a":{"type":"string","pattern":"^(a|b)*$"}}})",
                                R"({"a":")" + text + R"("})");
    CHECK(sentence == "argument `a` must be no longer than 4096 bytes");
}

TEST_CASE("a registry refuses a second tool of a name and a schema that is none")
{
    tool_registry tools;
    tools.add(std::make_unique<test_tool>("a", echo));
    CHECK_THROWS_AS(tools.add(std::make_unique<test_tool>("a", echo)), std::invalid_argument);
    CHECK_THROWS_AS(tools.add(std::make_unique<test_tool>("b", echo, R"({"type":5})")), std::invalid_argument);
    CHECK(tools.all().size() == 1);
    tools.remove("a");
    CHECK(tools.find("a") == nullptr);
}
