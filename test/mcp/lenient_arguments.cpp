#include "mcp/lenient_arguments.hpp"
#include "test/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

constexpr auto drawing = R"({"type":"object","additionalProperties":false,"required":["title"],"properties":{
    "title":{"type":"string","examples":["a house"]},
    "count":{"type":"integer","minimum":1,"maximum":9},
    "size":{"type":"number"},
    "filled":{"type":"boolean"},
    "color":{"type":"string","enum":["red","Blue"]},
    "tags":{"type":"array","items":{"type":"string"}},
    "points":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}},
    "style":{"type":"object","properties":{"width":{"type":"integer"},"bold":{"type":"boolean"}}},
    "speed":{"type":"string","default":"fast"},
    "label":{"type":"string","minLength":1},
    "free":{"type":"string"},
    "extra":{"description":"anything"},
    "either":{"type":["string","null"]}}})";

std::string meant(std::string_view arguments)
{
    auto values = parse(arguments);
    take_as_meant(values, parse(drawing));
    return json::serialize(values);
}

void count_to(harness& server) { add(server, "draw", echo, drawing); }

}  // namespace

TEST_CASE("arguments are taken as they are meant")
{
    const std::pair<const char*, const char*> pairs[] = {
        {R"({"title":null,"count":null,"tags":null})", R"({})"},
        {R"({"count":"5"})", R"({"count":5})"},
        {R"({"style":"bold"})", R"({"style":{"bold":true}})"},
        {R"({"style":"width"})", R"({"style":"width"})"},
        {R"({"count":5.0})", R"({"count":5})"},
        {R"({"count":" 5.0 "})", R"({"count":5})"},
        {R"({"size":"-2.5"})", R"({"size":-2.5E0})"},
        {R"({"filled":"true"})", R"({"filled":true})"},
        {R"({"filled":"False"})", R"({"filled":false})"},
        {R"({"filled":1})", R"({"filled":true})"},
        {R"({"title":5,"color":"blue"})", R"({"title":"5","color":"Blue"})"},
        {R"({"title":"5"})", R"({"title":"5"})"},
        {R"({"title":" a "})", R"({"title":" a "})"},
        {R"({"tags":"a, b"})", R"({"tags":["a, b"]})"},
        {R"({"tags":"[\"a\",2]"})", R"({"tags":["a","2"]})"},
        {R"({"tags":"[a"})", R"({"tags":["[a"]})"},
        {R"({"points":{"x":"1"}})", R"({"points":[{"x":1}]})"},
        {R"({"points":"[{\"x\":1}]"})", R"({"points":[{"x":1}]})"},
        {R"({"style":"{\"width\":\"3\"}"})", R"({"style":{"width":3}})"},
        {R"({"extra":null,"either":null})", R"({"extra":null,"either":null})"},
        {R"({"count":"","size":" ","filled":"","tags":"","style":""})", "{}"},
        {R"({"count":[],"size":{},"filled":[],"tags":{},"style":[]})", "{}"},
        {R"({"tags":[],"style":{}})", R"({"tags":[],"style":{}})"},
        {R"({"color":"","speed":"","label":"","free":""})", R"({"free":""})"},
        {R"({"free":[]})", "{}"},
        {R"({"style":{"width":"","bold":null}})", R"({"style":{}})"},
    };
    for (const auto& [arguments, taken] : pairs) CHECK(meant(arguments) == taken);
}

TEST_CASE("arguments that cannot be meant stay as they are")
{
    for (const char* arguments :
         {R"({"count":"five"})", R"({"count":"nan"})", R"({"count":5.5})", R"({"size":"inf"})", R"({"filled":"maybe"})",
          R"({"filled":2})", R"({"title":{}})", R"({"title":[]})", R"({"color":"green"})", R"({"style":"{"})"})
        CHECK(meant(arguments) == json::serialize(json::parse(arguments)));
}

TEST_CASE("an empty value that is required stays, for the refusal to name it")
{
    CHECK(meant(R"({"title":""})") == R"({"title":""})");
    CHECK(meant(R"({"title":[]})") == R"({"title":[]})");
    CHECK(meant(R"({"title":null})") == "{}");
}

TEST_CASE("a tool that changes things refuses arguments that would be left out and mean another target")
{
    tool_registry tools;
    tools.add(std::make_unique<test_tool>("draw", echo, drawing));
    const auto refused = [&tools](const char* more) {
        return !tools.validate("draw", parse(std::string(R"({"title":"a",)") + more + "}")).empty();
    };
    for (const char* more :
         {R"("sandbox_id":"sbx")", R"("sandboxId":"sbx")", R"("cwd":"/x")", R"("working_directory":"x")",
          R"("dry_run":true)", R"("dryRun":"true")", R"("recursive":true)", R"("append":true)", R"("mode":"a")",
          R"("overwrite":false)", R"("exclude":["x"])", R"("insert_line":3)"})
        CHECK(refused(more));
    for (const char* more : {R"("sandbox_id":null)", R"("sandbox_id":"")", R"("dry_run":false)", R"("recursive":false)",
                             R"("overwrite":true)", R"("mode":"w")", R"("comment":"x")", R"("sessionId":"x")",
                             R"("exclude":[])", R"("append":"false")"})
        CHECK_FALSE(refused(more));
    const auto sentence = tools.validate("draw", parse(R"({"title":"a","workdir":"x"})"));
    CHECK(sentence.find("`workdir`") != std::string::npos);
    CHECK(sentence.find("nothing was done") != std::string::npos);
}

TEST_CASE("a refusal shows arguments that would do, and names those that are not known")
{
    tool_registry tools;
    tools.add(std::make_unique<test_tool>("draw", echo, drawing));
    const std::pair<const char*, const char*> pairs[] = {
        {R"({"name":"x"})", R"(argument `title` is missing; `name` is not known; for example: {"title":"a house"})"},
        {R"({"title":null})", R"(argument `title` is missing; for example: {"title":"a house"})"},
        {R"({"title":"a","count":"five"})",
         "argument `count` must be an integer, not a string; for example: "
         R"({"title":"a house","count":1})"},
        {R"({"title":"a","points":[{}]})",
         R"(argument `points[0].x` is missing; for example: {"title":"a house","points":[{"x":10}]})"},
        {R"({"title":"a","color":"green"})",
         R"(argument `color` must be one of "red", "Blue"; for example: {"title":"a house","color":"red"})"},
    };
    for (const auto& [arguments, sentence] : pairs) CHECK(tools.validate("draw", parse(arguments)) == sentence);
    CHECK(tools.validate("draw", parse(R"({"title":"a","more":1})")).empty());
}

TEST_CASE("arguments that are not known are left out of the call and named in the answer")
{
    harness server;
    count_to(server);
    server.initialize();
    const auto response =
        server.request("tools/call", call_params("draw", parse(R"({"title":"a","count":"2","more":1,"gone":null})")));
    const auto& result = result_of(response);
    CHECK_FALSE(result.contains("isError"));
    CHECK(json::serialize(result.at("structuredContent")) == R"({"title":"a","count":2,"ignored_arguments":["more"]})");
    CHECK(result.at("content").as_array().at(0).as_object().at("text").as_string().find("more") != json::string::npos);
}
