#include "test/program/tools/system_support.hpp"

#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"

#include <algorithm>

using namespace cmcp;
using namespace cmcp::test;

namespace {

struct discovery_stage : system_stage {
    tool_result ask(const char* name, json::object arguments, caller who = {})
    {
        tool_context context{who, progress, "r1", {}, {}};
        auto work = registry.find(name)->call(context, std::move(arguments));
        return run_coroutine(io, std::move(work));
    }
    std::vector<std::string> names_for(const std::string& query, caller who = {})
    {
        std::vector<std::string> names;
        const auto result = ask("search_tools", {{"query", query}}, std::move(who));
        for (const auto& each : result.structured.at("tools").as_array())
            names.push_back(text_of(each.as_object(), "name"));
        return names;
    }
};

bool is_among(const std::vector<std::string>& names, const std::string& name)
{
    return std::ranges::find(names, name) != names.end();
}

}  // namespace

TEST_CASE("search_tools finds tools by words and by name, the best first, with the arguments that they take")
{
    discovery_stage s;
    CHECK(s.names_for("execute_python_code").front() == "execute_python_code");
    CHECK(is_among(s.names_for("install packages"), "install_packages_in_sandbox"));
    CHECK(is_among(s.names_for("Shell command"), "execute_terminal_command"));
    CHECK(is_among(s.names_for("edit file"), "file_edit"));
    const auto result = s.ask("search_tools", {{"query", "create sandbox"}, {"limit", 1}});
    const auto& rows = result.structured.at("tools").as_array();
    REQUIRE(rows.size() == 1);
    const auto& row = rows[0].as_object();
    CHECK(text_of(row, "name") == "create_sandbox");
    CHECK(object_of(row, "input_schema").contains("properties"));
    CHECK(json::serialize(row).find("x-mcp-header") == std::string::npos);
    const auto looks = s.ask("search_tools", {{"query", "file_read"}, {"limit", 1}});
    CHECK(looks.structured.at("tools").at(0).at("read_only") == true);
}

TEST_CASE("every tool that the caller's scopes permit is found by its name, and no other")
{
    discovery_stage s;
    caller reader;
    reader.scopes = scope::read;
    std::size_t permitted = 0;
    for (const auto& each : s.registry.all()) {
        const auto& tool = each->definition();
        if (tool.leads_to_others || tool.for_code_alone) continue;
        const bool may = reader.scopes.covers(tool.needs);
        permitted += may;
        INFO(tool.name);
        CHECK(s.names_for(tool.name).front() == tool.name);
        CHECK(is_among(s.names_for(tool.name, reader), tool.name) == may);
    }
    const auto names = s.ask("search_tools", {{"query", ""}}, reader);
    CHECK(names.structured.at("names").as_array().size() == permitted);
    CHECK(permitted > 5);
    const auto nothing = s.ask("search_tools", {{"query", "xyzzy"}});
    CHECK(nothing.structured.at("tools").as_array().empty());
    CHECK(nothing.structured.at("names").as_array().size() > 40);
    CHECK_FALSE(is_among(s.names_for("find tools by words"), "search_tools"));
}

TEST_CASE("call_tool that reaches no tool says which may be meant")
{
    discovery_stage s;
    const auto near = s.ask("call_tool", {{"name", "file_reader"}, {"arguments", json::object()}});
    CHECK(near.is_error);
    CHECK(text_of(near.structured, "error").find("There is no tool \"file_reader\". Is one of these meant: file_") ==
          0);
    CHECK(text_of(s.ask("call_tool", {{"name", "xyzzy"}}).structured, "error").find("search_tools finds") !=
          std::string::npos);
    CHECK(text_of(s.ask("call_tool", {{"name", "call_tool"}}).structured, "error").find("call it itself") !=
          std::string::npos);
    CHECK(text_of(s.ask("call_tool", {{"name", "file_read"}, {"arguments", 5}}).structured, "error")
              .find("must be an object") != std::string::npos);
}
