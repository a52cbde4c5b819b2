#include "tools/web_search.hpp"

#include "tools/schema.hpp"

#include <utility>

namespace cmcp {
namespace {

constexpr std::int64_t default_results = 10;
constexpr std::int64_t most_results = 50;
constexpr std::size_t longest_query = 2000;

tool_definition web_search_definition()
{
    tool_definition made;
    made.name = "web_search";
    made.title = "Search the web";
    made.description =
        "Search the web and get titles, addresses and snippets. Read a page that looks right with web_scrape.";
    made.input_schema =
        schema::input({{"query", schema::string("What to search for")},
                       {"max_results", schema::integer("Results at most, 10 by default", 1, most_results)}},
                      {"query"});
    auto item = schema::object({},
                               {{"title", schema::string("Title of the page")},
                                {"url", schema::string("Address of the page")},
                                {"snippet", schema::string("Some of its text")}},
                               {"title", "url", "snippet"});
    made.output_schema = schema::output({{"results", schema::array("Best first, each page once", std::move(item))},
                                         {"query", schema::string("What was searched for")},
                                         {"provider", schema::string("Who was asked")},
                                         {"success", schema::boolean("Whether the provider answered")},
                                         {"error", schema::string("What happened, as a sentence")}},
                                        {"results", "query"});
    made.annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = true};
    return made;
}

std::string complaint(const std::string& query)
{
    if (query.find_first_not_of(" \t\r\n") == std::string::npos) return "query: is empty; say what to search for.";
    if (query.size() > longest_query) return "query: is longer than 2000 bytes; use fewer words.";
    return {};
}

}  // namespace

web_search::web_search(web_searcher& engine) : engine_(engine), definition_(web_search_definition()) {}

awaitable<tool_result> web_search::call(tool_context& context, json::object arguments)
{
    std::string query(arguments.at("query").as_string());
    const auto* wanted = arguments.if_contains("max_results");
    const auto most = static_cast<std::size_t>(wanted != nullptr ? wanted->to_number<std::int64_t>() : default_results);
    if (auto problem = complaint(query); !problem.empty()) co_return tool_failure(std::move(problem));
    tool_result made;
    made.structured = co_await engine_.search(context.who, context.io, std::move(query), most);
    made.is_error = !made.structured.at("success").as_bool();
    co_return made;
}

}  // namespace cmcp
