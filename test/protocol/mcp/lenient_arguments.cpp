#include "mcp/arguments/lenient_arguments.hpp"
#include "jsonrpc/absent.hpp"
#include "mcp/arguments/argument_rules.hpp"
#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

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

TEST_CASE("arguments take time in proportion to their number, known or not")
{
    const auto definition = test_tool("draw", echo, drawing).definition();
    const argument_rules rules(definition);
    const auto fit = [&rules](json::object& arguments) {
        rules.validate(arguments);
        rules.take_out_unknown(arguments);
    };
    const auto many_unknown = [](std::size_t count) {
        json::object arguments{{"title", "a"}};
        for (std::size_t i = 0; i < count; ++i) arguments["dry_run" + std::to_string(i)] = static_cast<int>(i % 2);
        return arguments;
    };
    const auto many_nulls = [](std::size_t count) {
        json::object arguments{{"title", "a"}};
        for (std::size_t i = 0; i < count; ++i) arguments["n" + std::to_string(i)] = nullptr;
        return arguments;
    };
    const auto one_list = [](const char* name, const json::value& item) {
        return [name = std::string(name), item](std::size_t count) {
            return json::object{{"title", "a"}, {name, json::array(count, item)}};
        };
    };
    const auto text_of_list = [](std::size_t count) {
        std::string text = "[1";
        for (std::size_t i = 0; i < count; ++i) text += ",1";
        return json::object{{"title", "a"}, {"tags", text + "]"}};
    };
    CHECK(growth(many_unknown, fit, 10'000) < linear_growth);
    CHECK(growth(many_nulls, fit, 10'000) < linear_growth);
    CHECK(growth(one_list("tags", "5"), fit, 10'000) < linear_growth);
    CHECK(growth(one_list("tags", json::object{}), fit, 10'000) < linear_growth);
    CHECK(growth(one_list("points", json::object{{"x", "1"}}), fit, 5'000) < linear_growth);
    CHECK(growth(one_list("points", json::array{}), fit, 5'000) < linear_growth);
    CHECK(growth(one_list("dir", json::array{}), fit, 20'000) < linear_growth);
    CHECK(growth(text_of_list, fit, 10'000) < linear_growth);
    const auto without = [](json::object& from) { from = jsonrpc::without_nulls(std::move(from)); };
    CHECK(growth(many_nulls, without, 10'000) < linear_growth);
}

TEST_CASE("a schema with thousands of names takes time in proportion to them")
{
    const auto schema_of = [](std::size_t count) {
        json::object properties, given;
        json::array required;
        for (std::size_t i = 0; i < count; ++i) {
            const auto name = "p" + std::to_string(i);
            properties[name] = json::object{{"type", "string"}};
            given[name] = i % 2 == 0 ? json::value("") : json::value(1);
            required.emplace_back(name);
        }
        return std::pair(json::object{{"type", "object"}, {"properties", properties}, {"required", required}}, given);
    };
    const auto fit = [](std::pair<json::object, json::object>& both) {
        take_as_meant(both.second, both.first);
        example_arguments(both.first, {});
    };
    CHECK(growth(schema_of, fit, 3'000) < linear_growth);
}

TEST_CASE("the first item of a long list that does not fit is named by its place")
{
    tool_registry tools;
    tools.add(std::make_unique<test_tool>("draw", echo, drawing));
    json::object arguments{{"title", "a"}, {"tags", json::array(1000, json::value("t"))}};
    arguments["tags"].as_array()[700] = json::object{{"no", "text"}};
    arguments["tags"].as_array()[900] = json::object{{"no", "text"}};
    for (int i = 0; i < 300; ++i) arguments["unknown" + std::to_string(i)] = json::array(300, json::value(1));
    const auto sentence = tools.validate("draw", arguments);
    CHECK(sentence.starts_with("argument `tags[700]` must be a string, not an object"));
    CHECK(sentence.size() < 1000);
    CHECK(arguments.at("tags").as_array().size() == 1000);
    const auto rules = tools.rules_of("draw");
    CHECK(rules->validate_anywhere(arguments) == sentence);
}

TEST_CASE("names that a caller has chosen are cut in sentences")
{
    tool_registry tools;
    tools.add(std::make_unique<test_tool>("draw", echo, drawing));
    json::object arguments;
    for (int i = 0; i < 100; ++i) arguments[std::string(10'000, 'n') + std::to_string(i)] = 1;
    CHECK(tools.validate("draw", arguments).size() < 2000);
}

TEST_CASE("the arguments of a long message are fitted on the pool")
{
    harness server(core_limits{.pool = std::make_shared<blocking_pool>()});
    count_to(server);
    jsonrpc::request incoming{1, "tools/call", modern_params(call_params("draw", {}), {})};
    incoming.params["arguments"] =
        json::object{{"title", "a"}, {"count", "2"}, {"tags", json::array(300, json::value("t"))}};
    incoming.params["arguments"].as_object()["more"] = json::array(1000, json::value("x"));
    incoming.is_long = true;
    const auto own = std::make_shared<memory_sink>(server.io.get_executor());
    peer from{.reply = own};
    run_coroutine(server.io, harness::run(server.core, std::move(incoming), std::move(from)));
    const auto& result = result_of(own->messages.back()).at("structuredContent").as_object();
    CHECK(result.at("count") == 2);
    CHECK(result.at("tags").as_array().size() == 300);
    CHECK_FALSE(result.contains("more"));
    CHECK(json::serialize(result.at("ignored_arguments")) == R"(["more"])");
}

TEST_CASE("a tool that asks twice gets the arguments of a long message each time")
{
    harness server(core_limits{.pool = std::make_shared<blocking_pool>()});
    add(server, "ask", ask_twice, R"({"type":"object","properties":{"list":{"type":"array"}},"required":["list"]})");
    server.initialize("2025-11-25", parse(R"({"elicitation":{}})"));
    jsonrpc::request incoming{7, "tools/call",
                              call_params("ask", json::object{{"list", json::array(1000, json::value(1))}})};
    incoming.is_long = true;
    server.tasks.spawn("request", harness::run(server.core, std::move(incoming), server.legacy_peer(server.sink)));
    for (int i = 0; i < 2; ++i) {
        const auto question = server.next();
        server.respond(question.at("id"), parse(R"({"action":"accept","content":{}})"));
    }
    CHECK(result_of(server.next()).contains("structuredContent"));
    CHECK(server.idle());
}
