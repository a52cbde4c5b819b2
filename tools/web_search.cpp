#include "tools/described_tool.hpp"
#include "tools/tools.hpp"
#include "web/web_searcher.hpp"

namespace cmcp {
namespace {

constexpr std::size_t longest_query = 2000;

struct web_search_input {
    std::string query;
    std::size_t max_results = 10;
};

std::string complaint(const std::string& query)
{
    if (query.find_first_not_of(" \t\r\n") == std::string::npos) return "query: is empty; say what to search for.";
    if (query.size() > longest_query) return "query: is longer than 2000 bytes; use fewer words.";
    return {};
}

awaitable<tool_result> process_web_search(web_searcher& searcher, tool_context& context, web_search_input input)
{
    if (auto problem = complaint(input.query); !problem.empty()) co_return tool_failure(std::move(problem));
    tool_result result;
    result.structured = co_await searcher.search(context.who, context.io, std::move(input.query), input.max_results);
    result.is_error = !result.structured.at("success").as_bool();
    co_return result;
}

json::object web_search_output()
{
    auto item = schema::object({},
                               {{"title", schema::string("Title of the page")},
                                {"url", schema::string("Address of the page")},
                                {"snippet", schema::string("Some of its text")}},
                               {"title", "url", "snippet"});
    return schema::output({{"results", schema::array("Best first, each page once", std::move(item))},
                           {"query", schema::string("What was searched for")},
                           {"provider", schema::string("Who was asked")},
                           {"success", schema::boolean("Whether the provider answered")},
                           {"error", schema::string("What happened, as a sentence")}},
                          {"results", "query"});
}

}  // namespace

tool_owner make_web_search(web_searcher& searcher)
{
    using input = web_search_input;
    return make_tool<input>(
        {.about = {.name = "web_search",
                   .title = "Search the web",
                   .description = "Search the web and get titles, addresses and snippets. Read a page that looks right "
                                  "with web_scrape.",
                   .output_schema = web_search_output(),
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = true}},
         .input = {{"query", &input::query, "What to search for", rule::required},
                   {"max_results", &input::max_results, "Results at most, 10 by default", rule::between(1, 50)}},
         .process = std::bind_front(process_web_search, std::ref(searcher)),
         .obstacle = searcher.obstacle()});
}

}  // namespace cmcp
