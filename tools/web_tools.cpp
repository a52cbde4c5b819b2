#include "mcp/tool_registry.hpp"
#include "preview/previews.hpp"
#include "tools/described_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/tools.hpp"
#include "web/web_browser.hpp"
#include "web/web_scraper.hpp"
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

tool_owner make_web_search(web_searcher& searcher)
{
    using input = web_search_input;
    return make_tool<input>(
        {.about = {.name = "web_search",
                   .title = "Search the web",
                   .description = "Search the web: titles, addresses, snippets. Read a page with web_scrape.",
                   .output_schema = web_search_output(),
                   .needs = scope::web,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = true},
                   .keeps_to_network = true},
         .input = {{"query", &input::query, "", rule::required, rule::example("sqlite json functions")},
                   {"max_results", &input::max_results, "10 by default, at most 50", rule::between(1, 50)}},
         .process = std::bind_front(process_web_search, std::ref(searcher)),
         .obstacle = searcher.obstacle()});
}

constexpr const char* about_web_scrape =
    "Read a public web page (HTML, text, JSON, PDF), by default its main text. No scripts run: for those use "
    "web_browse.";

awaitable<tool_result> process_web_scrape(web_scraper& scraper, tool_context& context, scrape_request request)
{
    tool_result result;
    result.structured = co_await scraper.scrape(context.who, context.io, std::move(request));
    result.is_error = !result.structured.at("success").as_bool();
    co_return result;
}

tool_owner make_web_scrape(web_scraper& scraper)
{
    using input = scrape_request;
    return make_tool<input>(
        {.about = {.name = "web_scrape",
                   .title = "Read a web page",
                   .description = about_web_scrape,
                   .output_schema = schema::output(
                       {{"content", schema::string("What was asked for, in the format asked for")},
                        {"url", schema::string("Where the page was found, after redirects")},
                        {"title", schema::string("Title of the page; empty when it has none")},
                        {"success", schema::boolean("Whether the page was fetched and read")},
                        {"error", schema::any("What happened, as a sentence; null when nothing did")},
                        {"reason",
                         schema::string(
                             "Short name of what happened: refused, timeout, tls, too_large, http_status, …")},
                        {"status", schema::any("HTTP status")},
                        {"content_type", schema::string("Media type")},
                        {"matches", schema::any("Visible elements that the selector matched")},
                        {"length", schema::any("Length of the whole content")},
                        {"truncated", schema::boolean("Whether content was cut")},
                        {"links", schema::array("For format links",
                                                schema::object({}, {{"text", schema::string("Text of the link")},
                                                                    {"url", schema::string("Absolute address")}}))},
                        {"hint", schema::string("What may help")}},
                       {"content", "url", "title", "success", "error"}),
                   .needs = scope::web,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = true},
                   .keeps_to_network = true,
                   .size_argument = "max_length"},
         .input = {{"url", &input::url, "", rule::required, rule::example("https://example.com/")},
                   {"selector", &input::selector, "CSS selector of the part to read"},
                   {"format", &input::format, "text by default", rule::one_of({"text", "markdown", "html", "links"})},
                   {"max_length", &input::max_length, "Maximum characters", rule::between(1, 1'000'000)},
                   {"timeout", &input::timeout, "", rule::time_limit("Seconds")}},
         .process = std::bind_front(process_web_scrape, std::ref(scraper))});
}

constexpr const char* about_web_browse =
    "Open a page in a fresh browser, do the actions in order, return it: for scripts, forms, screenshots; else "
    "web_scrape.";

struct action_input : page_action {
    std::string action;
};

struct web_browse_input : browse_request, sandbox_input {
    web_browse_input() { format.clear(); }
    std::vector<action_input> steps;
};

fields<action_input> action_fields()
{
    using input = action_input;
    return {{"action", &input::action, "", rule::one_of({"click", "type", "press", "scroll", "wait"}), rule::required},
            {"selector", &input::selector, "CSS; for click and type"},
            {"text", &input::text, ""},
            {"key", &input::key, "Enter, Tab, a, …"},
            {"to", &input::to, "", rule::one_of({"up", "down", "top", "bottom"})},
            {"seconds", &input::time, "", rule::between(0.0, 60.0)}};
}

fields<web_browse_input> web_browse_fields()
{
    using input = web_browse_input;
    return {
        {"url", &input::url, "", rule::required, rule::example("https://example.com/")},
        sandbox_id_field("For its http://localhost:<port>"),
        {"wait_for", &input::wait_for, "CSS selector"},
        {"actions", &input::steps, "", rule::items<action_input>{"", action_fields()}, json::object{{"maxItems", 50}}},
        {"selector", &input::selector, "CSS selector of the part to return"},
        {"format", &input::format, "markdown by default; over REST html", rule::one_of({"html", "text", "markdown"})},
        {"screenshot", &input::screenshot, "", rule::with_default},
        {"timeout", &input::timeout, "", rule::time_limit("Seconds")}};
}

// Over MCP an image is a content block, for which REST has no place of its own.
json::object images_schema()
{
    json::object image = schema::object(
        "",
        {{"data", schema::string("The image, base64")}, {"mimeType", schema::string("Its type, such as image/png")}},
        {"data", "mimeType"});
    return schema::array("Over REST: the screenshot. Over MCP it is image content instead", std::move(image));
}

json::object console_schema()
{
    return schema::array("What the page, its frames and its workers wrote to the console",
                         schema::object("",
                                        {{"level", schema::one_of("", {"log", "debug", "info", "warning", "error"})},
                                         {"text", schema::string("The message")},
                                         {"at", schema::string("file:line:column")},
                                         {"times", schema::typed("integer", "In a row, where more than once")}},
                                        {"level", "text"}));
}

json::object uncaught_errors_schema()
{
    return schema::array("Errors of scripts that nothing caught",
                         schema::object("",
                                        {{"text", schema::string("The error with its stack")},
                                         {"at", schema::string("file:line:column")},
                                         {"times", schema::typed("integer", "In a row, where more than once")}},
                                        {"text"}));
}

json::object failed_requests_schema()
{
    return schema::array("Requests of the page that failed or were answered with an error",
                         schema::object("",
                                        {{"url", schema::string("What was asked for")},
                                         {"status", schema::typed("integer", "HTTP status, from 400 on")},
                                         {"error", schema::string("Why there was no answer")},
                                         {"times", schema::typed("integer", "In a row, where more than once")}},
                                        {"url"}));
}

json::object event_row(const page_event& event)
{
    json::object row;
    if (event.what == page_event::kind::failed_request) {
        row["url"] = event.at;
        if (event.status != 0)
            row["status"] = event.status;
        else
            row["error"] = event.text;
    } else {
        if (!event.level.empty()) row["level"] = event.level;
        row["text"] = event.text;
        if (!event.at.empty()) row["at"] = event.at;
    }
    if (event.times > 1) row["times"] = event.times;
    return row;
}

// Nothing where the page was quiet.
void add_log(json::object& into, const std::vector<page_event>& log)
{
    constexpr const char* lists[] = {"console", "uncaught_errors", "failed_requests"};
    for (const auto& event : log) {
        auto& list = into[lists[static_cast<int>(event.what)]];
        if (list.is_null()) list.emplace_array();
        list.get_array().push_back(event_row(event));
    }
}

page_action::kind kind_of(const std::string& name)
{
    using kind = page_action::kind;
    if (name == "click") return kind::click;
    if (name == "type") return kind::type;
    if (name == "press") return kind::press;
    return name == "scroll" ? kind::scroll : kind::wait;
}

// The schema cannot say it without a union, which several clients do not understand.
std::string missing_argument(const page_action& action, std::size_t number)
{
    using kind = page_action::kind;
    const std::string begin = "actions[" + std::to_string(number) + "] needs `";
    if ((action.what == kind::click || action.what == kind::type) && action.selector.empty())
        return begin + "selector`: a CSS selector of the element.";
    if (action.what == kind::press && action.key.empty()) return begin + "key`: for example Enter.";
    if (action.what == kind::wait && action.selector.empty() && action.time.count() == 0)
        return begin + "seconds` or `selector`: what to wait for.";
    return {};
}

tool_result web_browse_result(browse_result page)
{
    tool_result result;
    result.is_error = !page.success;
    json::object& into = result.structured;
    into["content"] = page.content;
    into["url"] = page.url;
    into["title"] = page.title;
    into["success"] = page.success;
    into["error"] = page.success ? json::value() : json::value(page.error);
    if (page.status != 0) into["status"] = page.status;
    if (page.matches) into["matches"] = *page.matches;
    if (page.truncated) into["truncated"] = true;
    if (page.timed_out) into["timed_out"] = true;
    if (!page.notes.empty()) into["notes"] = json::array(page.notes.begin(), page.notes.end());
    add_log(into, page.log);
    into["duration_ms"] = page.duration.count();
    if (!page.screenshot || page.screenshot->base64.empty()) return result;
    result.content.push_back(
        json::object{{"type", "image"}, {"data", page.screenshot->base64}, {"mimeType", page.screenshot->media_type}});
    return result;
}

// The page of a sandbox is opened within the sandbox, so that no address of this machine need be reached. `closed`: the
// address is this machine's, which nobody may reach, so it is meant to be the default sandbox's.
std::shared_ptr<sandbox_activities::entry> lead_inside(const pages_of_sandboxes& pages, const tool_context& context,
                                                       bool closed, web_browse_input& input)
{
    if (pages.sandboxes == nullptr && !input.sandbox_id.empty())
        throw sandbox_error("NotAvailable", "There are no sandboxes here: TOOLS_ENABLE_SANDBOX is false.");
    if (pages.sandboxes == nullptr) return nullptr;
    std::optional<sandbox_record> where;
    if (auto page = pages.shown->behind(context.who, input.url)) {
        where = std::move(page->where);
        input.url = std::move(page->url);
    }
    if (!where && closed && input.sandbox_id.empty())
        if (auto own = pages.sandboxes->existing_default(context.who)) input.sandbox_id = own->id;
    if (!input.sandbox_id.empty()) where = pages.sandboxes->find(context.who, input.sandbox_id);
    if (!where) return nullptr;
    input.inside = [shown = pages.shown, its = *where](std::uint16_t port) { return shown->enter(its, port); };
    return pages.sandboxes->enter(*where);
}

constexpr const char* hint_at_sandbox =
    " Where a program of a sandbox serves the page, give its sandbox_id: localhost then means the sandbox.";

// Programs, and clients of the first Container-MCP, have always been given HTML; a model reads Markdown with less.
const char* usual_format(const tool_profiles& profiles, const tool_context& context)
{
    return context.is_program || profiles.profile_of(context.who) == "seed-a" ? "html" : "markdown";
}

awaitable<tool_result> process_web_browse(web_browser& browser, pages_of_sandboxes pages, const tool_profiles& profiles,
                                          tool_context& context, web_browse_input input)
{
    if (input.format.empty()) input.format = usual_format(profiles, context);
    const auto machine = browser.machine_of(context.who, input.url);
    const auto use = lead_inside(pages, context, machine == web_browser::machine::closed, input);
    const bool lacks_sandbox = use == nullptr && pages.sandboxes != nullptr && machine != web_browser::machine::none;
    for (auto& step : input.steps) {
        step.what = kind_of(step.action);
        std::string missing = missing_argument(step, input.actions.size());
        if (!missing.empty()) {
            browse_result refused;
            refused.url = input.url;
            refused.error = std::move(missing);
            co_return web_browse_result(std::move(refused));
        }
        input.actions.push_back(std::move(step));
    }
    browse_request request = std::move(input);
    auto visit = browser.browse(context.who, context.io, std::move(request));
    if (use) visit = sandbox_activities::run(use, std::move(visit));
    auto page = co_await std::move(visit);
    if (!page.success && lacks_sandbox) page.error += hint_at_sandbox;
    co_return web_browse_result(std::move(page));
}

tool_owner make_web_browse(web_browser& browser, pages_of_sandboxes pages, const tool_profiles& profiles)
{
    return make_tool<web_browse_input>(
        {.about = {.name = "web_browse",
                   .title = "Browse a web page",
                   .description = about_web_browse,
                   .output_schema = schema::output(
                       {{"content", schema::string("The page in the format asked for")},
                        {"url", schema::string("Final address, after redirects")},
                        {"title", schema::string("Title of the page")},
                        {"success", schema::boolean("Whether the page was loaded and everything asked was done")},
                        {"error", schema::any("What went wrong and what to do, as a sentence; null when nothing did")},
                        {"status", schema::typed("integer", "HTTP status of the page", rule::between(0, 999))},
                        {"matches", schema::typed("integer", "Elements that `selector` matches",
                                                  rule::between(0, std::int64_t{1} << 32))},
                        {"truncated", schema::boolean("The content was cut")},
                        {"timed_out", schema::boolean("The time was over before the page came to rest")},
                        {"notes",
                         schema::array("What else happened: dialogs, downloads, windows, requests that were refused, "
                                       "and in short what the page wrote to its console and failed at",
                                       schema::string(""))},
                        {"console", console_schema()},
                        {"uncaught_errors", uncaught_errors_schema()},
                        {"failed_requests", failed_requests_schema()},
                        {"images", images_schema()},
                        {"duration_ms", schema::typed("number", "Wall time", rule::between(0, 1e9))}},
                       {"content", "url", "title", "success", "error"}),
                   .may_show_images = true,
                   .needs = scope::web,
                   .annotations = {.read_only = false, .destructive = false, .idempotent = false, .open_world = true},
                   .keeps_to_network = true},
         .input = web_browse_fields(),
         .process = std::bind_front(process_web_browse, std::ref(browser), pages, std::cref(profiles)),
         .obstacle = browser.obstacle()});
}

}  // namespace

void add_web_tools(tool_registry& registry, web_searcher& searcher, web_scraper& scraper, web_browser& browser,
                   pages_of_sandboxes pages)
{
    registry.add(make_web_search(searcher));
    registry.add(make_web_scrape(scraper));
    registry.add(make_web_browse(browser, pages, registry.profiles()));
}

}  // namespace cmcp
