#include "mcp/code_tools.hpp"

#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

using namespace cmcp;

namespace {

using words_of_list = std::vector<std::string>;

tool_for_code tool_named(std::string_view name, std::string_view title, std::string_view description)
{
    return std::make_shared<const json::object>(
        json::object{{"name", name}, {"title", title}, {"description", description}, {"read_only", true}});
}

std::string listed_names(const std::vector<tool_for_code>& tools)
{
    std::string all;
    for (const auto& each : tools) all.append(all.empty() ? "" : " ").append(each->at("name").as_string());
    return all;
}

tool_definition defined(std::string name, bool read_only, bool open_world)
{
    tool_definition tool;
    tool.name = std::move(name);
    tool.annotations.read_only = read_only;
    tool.annotations.open_world = open_world;
    return tool;
}

json::object schema_with_sandbox(json::array required)
{
    return {{"type", "object"},
            {"properties", {{"sandbox_id", {{"type", "string"}}}, {"code", {{"type", "string"}}}}},
            {"required", std::move(required)}};
}

}  // namespace

TEST_CASE("read-only means tools that change nothing and reach nothing outside", "[code]")
{
    CHECK(is_closed_and_read_only(defined("file_read", true, false)));
    CHECK_FALSE(is_closed_and_read_only(defined("web_scrape", true, true)));
    CHECK_FALSE(is_closed_and_read_only(defined("file_write", false, false)));
}

TEST_CASE("tools of another server are for code where the list names the server, or the network is open", "[code]")
{
    const calling_code closed{"sbx_a"};
    const calling_code open{"sbx_a", true};
    for (const auto* word : {"github.search", "github.*", "github.s*"})
        CHECK(list_means_upstream({"read-only", word}, "github.search", closed));
    for (const auto* word :
         {"read-only", "all", "*", "git*", "*.search", "github", "gitlab.*", "github.create", "github*"})
        CHECK_FALSE(list_means_upstream({word}, "github.search", closed));
    CHECK(list_means_upstream({"all"}, "github.search", open));
    CHECK(list_means_upstream({"*"}, "github.search", open));
    CHECK_FALSE(list_means_upstream({"read-only"}, "github.search", open));
    CHECK_FALSE(list_means_upstream({"github.*", "!github.search"}, "github.search", open));
    CHECK_FALSE(list_means_upstream({"!github.*", "all"}, "github.search", closed));
}

TEST_CASE("what code may not do with a tool of the list is refused by a sentence that names the setting", "[code]")
{
    calling_code from{"sbx_a"};
    auto install = defined("install_packages_in_sandbox", false, true);
    CHECK(overreach(install, from).find("SANDBOX_TOOLS_REACH_OUT=network") != std::string::npos);
    auto scrape = defined("web_scrape", true, true);
    scrape.keeps_to_network = true;
    CHECK(overreach(scrape, from).empty());
    auto read = defined("file_read", true, false);
    read.about = unnamed_subject::default_sandbox;
    read.input_schema = schema_with_sandbox({"code"});
    CHECK(overreach(read, from).empty());
    from.network = true;
    CHECK(overreach(install, from).empty());
}

TEST_CASE("code that names no sandbox means its own, and is not asked for one", "[code]")
{
    const calling_code from{"sbx_a"};
    auto tool = defined("execute_python_code", false, false);
    tool.input_schema = schema_with_sandbox({"sandbox_id", "code"});
    for (json::object arguments :
         {json::object(), json::object{{"sandbox_id", nullptr}}, json::object{{"sandbox_id", ""}}}) {
        mean_own_sandbox(tool, arguments, from);
        CHECK(arguments.at("sandbox_id") == "sbx_a");
    }
    json::object named{{"sandbox_id", "sbx_b"}};
    mean_own_sandbox(tool, named, from);
    CHECK(named.at("sandbox_id") == "sbx_b");
    CHECK(described_to_code(tool).at("input_schema").at("required") == json::array{"code"});
    CHECK(tool.input_schema.at("required") == json::array{"sandbox_id", "code"});
    tool.input_schema = schema_with_sandbox({"code"});
    json::object optional;
    mean_own_sandbox(tool, optional, from);
    CHECK(optional.empty());
    CHECK(described_to_code(tool).at("input_schema") == json::value(tool.input_schema));
}

TEST_CASE("a list of tools for code means names, patterns and kinds, and nothing that it refuses", "[code]")
{
    CHECK(list_means({"read-only"}, "file_read", true));
    CHECK_FALSE(list_means({"read-only"}, "file_write", false));
    CHECK(list_means({"all"}, "file_write", false));
    CHECK(list_means({"file_*"}, "file_write", false));
    CHECK(list_means({"read-only", "github.*"}, "github.create_issue", false));
    CHECK_FALSE(list_means({"all", "!file_*"}, "file_read", true));
    CHECK_FALSE(list_means({"!read-only", "all"}, "file_read", true));
    CHECK(list_means({"!read-only", "all"}, "file_write", false));
    CHECK_FALSE(list_means({"none"}, "file_read", true));
    CHECK_FALSE(list_means(words_of_list(), "file_read", true));
    CHECK_FALSE(list_means({"file"}, "file_read", true));
}

TEST_CASE("tools that fit more words, and by their names, come first", "[code]")
{
    const std::vector<tool_for_code> tools{tool_named("web_scrape", "Read a page", "Read a public web page"),
                                           tool_named("file_search", "Search files", "Find text in files"),
                                           tool_named("github.search_issues", "", "Search issues of a repository")};
    CHECK(listed_names(best_fits(tools, "search", 10)) == "file_search github.search_issues");
    CHECK(listed_names(best_fits(tools, "SEARCH issues", 10)) == "github.search_issues file_search");
    CHECK(listed_names(best_fits(tools, "page", 10)) == "web_scrape");
    CHECK(listed_names(best_fits(tools, "nothing like that", 10)).empty());
    CHECK(listed_names(best_fits(tools, "  ", 2)) == "web_scrape file_search");
    CHECK(listed_names(best_fits(tools, "", 10)) == "web_scrape file_search github.search_issues");
    CHECK(best_fits({}, "search", 10).empty());
}

TEST_CASE("a search takes time in the measure of its words and of the tools", "[code]")
{
    const auto tools = [](std::size_t count) {
        return std::vector<tool_for_code>(count, tool_named("a", "b", std::string(2000, 'x')));
    };
    const auto search = [](const std::vector<tool_for_code>& of) { best_fits(of, "y x z", 10); };
    CHECK(test::growth(tools, search, 2000) < test::linear_growth);
    const auto words = [](std::size_t count) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i) all += "word ";
        return all;
    };
    const auto known = tools(500);
    const auto search_for = [&](const std::string& of) { best_fits(known, of, 10); };
    CHECK(test::growth(words, search_for, 500'000) < test::linear_growth);
}
