#include "mcp/call_by_name.hpp"

#include "mcp/needed_scopes.hpp"
#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

class defined_tool final : public tool {
public:
    explicit defined_tool(tool_definition about) : about_(std::move(about))
    {
        about_.input_schema = parse(R"({"type":"object"})");
    }
    const tool_definition& definition() const override { return about_; }
    awaitable<tool_result> call(tool_context&, json::object arguments) override
    {
        tool_result result = tool_failure("answered by " + about_.name);
        result.structured["arguments"] = std::move(arguments);
        co_return result;
    }

private:
    tool_definition about_;
};

void define(harness& server, tool_definition about)
{
    server.core.tools().add(std::make_unique<defined_tool>(std::move(about)));
}

// With call_tool itself, a tool that only code knows, and one that takes a number.
void fill(harness& server)
{
    tool_definition by_name, secret, deletes;
    by_name.name = call_tool_name;
    by_name.needs = scope::read;
    by_name.leads_to_others = true;
    secret.name = "secret";
    secret.for_code_alone = true;
    deletes.name = "deletes";
    deletes.needs = scope::files;
    for (auto* each : {&by_name, &secret, &deletes}) define(server, std::move(*each));
    add(server, "echo", echo, R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})");
}

json::object by_name(json::value name, json::value arguments)
{
    return call_params(call_tool_name, {{"name", std::move(name)}, {"arguments", std::move(arguments)}});
}

std::string seen_through(harness& server, json::object params)
{
    const auto* called = tool_in(server.core.tools(), params);
    mean_named_tool(server.core.tools(), params);
    const std::string name(params.at("name").as_string());
    CHECK(called != nullptr);
    if (called != nullptr) CHECK(called->definition().name == name);  // scopes are judged by the tool that is called
    return name + " " + json::serialize(params.at("arguments"));
}

scope_set needed(harness& server, json::object params)
{
    std::vector<jsonrpc::message> messages;
    messages.emplace_back(jsonrpc::request{1, "tools/call", std::move(params)});
    return needed_scopes(server.core.tools(), messages);
}

}  // namespace

TEST_CASE("a call of call_tool is the call of the tool that it names")
{
    harness server;
    fill(server);
    CHECK(seen_through(server, by_name("echo", json::object{{"n", 1}})) == R"(echo {"n":1})");
    CHECK(seen_through(server, by_name("echo", R"({"n":1})")) == R"(echo {"n":1})");
    CHECK(seen_through(server, by_name("echo", nullptr)) == "echo {}");
    CHECK(seen_through(server, call_params(call_tool_name, parse(R"({"name":"echo"})"))) == "echo {}");
    json::object as_text{{"name", call_tool_name}, {"arguments", R"({"name":"echo","arguments":{"n":1}})"}};
    CHECK(seen_through(server, as_text) == R"(echo {"n":1})");
    CHECK(seen_through(server, call_params("echo", {{"name", "deletes"}})) == R"(echo {"name":"deletes"})");
    CHECK(seen_through(server, call_params(call_tool_name,
                                           parse(R"({"name":"echo","arguments":{"n":1},"more":[1],"other":2})"))) ==
          R"(echo {"n":1})");
    server.initialize();
    for (const bool modern : {false, true}) {
        const auto ask = [&](json::object params) {
            return modern ? server.modern("tools/call", std::move(params))
                          : server.request("tools/call", std::move(params));
        };
        const auto one = ask(by_name("echo", json::object{{"n", "5"}}));
        CHECK(result_of(one).at("structuredContent") == json::value{{"n", 5}});  // read as leniently
        const auto misfit = ask(by_name("echo", json::object{{"m", 5}}));
        CHECK(result_of(misfit).at("isError") == true);
        CHECK(json::serialize(misfit).find("argument `n` is missing") != std::string::npos);
    }
}

TEST_CASE(
    "call_tool answers itself where it names no tool, one that is not for clients, itself, or arguments that are none")
{
    harness server;
    fill(server);
    server.initialize();
    for (const auto& params :
         {by_name("nothing", json::object()), by_name("secret", json::object()),
          by_name(call_tool_name, by_name("echo", json::object())), by_name("echo", json::array{1}),
          by_name("echo", "no JSON"), by_name(5, json::object()), call_params(call_tool_name)}) {
        const auto answer = server.request("tools/call", params);
        INFO(json::serialize(params));
        CHECK(json::serialize(answer).find("answered by call_tool") != std::string::npos);
    }
}

TEST_CASE("call_tool needs the scopes of the tool that it names")
{
    harness server;
    fill(server);
    CHECK(needed(server, by_name("deletes", json::object())) == scope_set(scope::files));
    CHECK(needed(server, by_name("deletes", "{}")) == scope_set(scope::files));
    json::object as_text{{"name", call_tool_name}, {"arguments", R"({"name":"deletes"})"}};
    CHECK(needed(server, as_text) == scope_set(scope::files));
    CHECK(needed(server, by_name("nothing", json::object())) == scope_set(scope::read));
    CHECK(needed(server, call_params("deletes")) == scope_set(scope::files));
}

TEST_CASE("a list has the tools that lead to others where a profile or TOOLS names them, and not for a pattern")
{
    harness server;
    fill(server);
    const auto shows = [&server](const caller& who) {
        for (const auto* each : server.core.tools().listed(who))
            if (each->definition().name == call_tool_name) return true;
        return false;
    };
    auto& profiles = server.core.tools().profiles();
    profiles.define("few", {"call_tool"});
    profiles.define("all", {"*"});
    caller few, all;
    few.profile = "few";
    all.profile = "all";
    CHECK(shows(few));
    CHECK_FALSE(shows(all));
    CHECK_FALSE(shows({}));
    profiles.show({"e*", "call_tool"});
    CHECK(shows({}));
    profiles.show({"few"});
    CHECK(shows({}));
    CHECK(profiles.profile_of({}) == "few");
    CHECK(profiles.profile_of(all) == "all");
    profiles.show({"few", "echo"});
    CHECK(profiles.profile_of({}).empty());
}
