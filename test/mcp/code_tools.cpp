#include "mcp/code_tools.hpp"

#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

using words_of_list = std::vector<std::string>;

json::object tool_named(std::string_view name, std::string_view title, std::string_view description)
{
    return {{"name", name}, {"title", title}, {"description", description}, {"read_only", true}};
}

std::string listed_names(const std::vector<json::object>& tools)
{
    std::string all;
    for (const auto& each : tools) all.append(all.empty() ? "" : " ").append(each.at("name").as_string());
    return all;
}

}  // namespace

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
    const std::vector<json::object> tools{tool_named("web_scrape", "Read a page", "Read a public web page"),
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
