#include "tools/web_browse.hpp"

#include "jsonrpc/write_json.hpp"
#include "tools/schema.hpp"

#include <cmath>
#include <utility>

namespace cmcp {
namespace {

constexpr const char* about_web_browse =
    "Open a web page in a real browser and return it after its scripts have run: use it for pages that need "
    "JavaScript, for "
    "forms and for screenshots; web_scrape is quicker for others. Each call begins with a fresh browser without "
    "cookies. "
    "`actions` are done in order (click, type, press, scroll, wait), then the page is returned.";

json::object action_schema()
{
    return schema::object(
        "One step; each waits up to 5 s for its element",
        {{"action", schema::one_of("What to do", {"click", "type", "press", "scroll", "wait"})},
         {"selector",
          schema::string("CSS selector of the element (needed for click and type; the first match is meant)")},
         {"text", schema::string("type: the new content of the field; of a <select>, the option")},
         {"key", schema::string("press: Enter, Tab, Escape, ArrowDown, … or one character")},
         {"to", schema::one_of("scroll without selector: where to", {"up", "down", "top", "bottom"})},
         {"seconds", schema::number("wait: how long; with a selector, how long at most", 0, 60)}},
        {"action"});
}

json::object web_browse_schema()
{
    json::object timeout{{"type", "number"}, {"exclusiveMinimum", 0}};
    timeout["description"] =
        "Seconds for the whole call; larger values are cut to the server's maximum. Default WEB_TIMEOUT_DEFAULT";
    json::object actions = schema::array("What to do on the page, in order", action_schema());
    actions["maxItems"] = 50;
    json::object screenshot = schema::boolean("Also return what the page looks like (1280 × 800)", false);
    json::object format = schema::one_of("How content is written", {"html", "text", "markdown"});
    format["default"] = "html";
    return schema::input({{"url", schema::string("Address of the page, http or https")},
                          {"wait_for", schema::string("CSS selector: wait until an element matches")},
                          {"actions", std::move(actions)},
                          {"selector", schema::string("CSS selector of what to return; default: the whole page")},
                          {"format", std::move(format)},
                          {"screenshot", std::move(screenshot)},
                          {"timeout", std::move(timeout)}},
                         {"url"});
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

tool_definition web_browse_definition()
{
    tool_definition made;
    made.name = "web_browse";
    made.title = "Browse a web page";
    made.description = about_web_browse;
    made.input_schema = web_browse_schema();
    made.output_schema = schema::output(
        {{"content", schema::string("The page in the format asked for")},
         {"url", schema::string("Final address, after redirects")},
         {"title", schema::string("Title of the page")},
         {"success", schema::boolean("Whether the page was loaded and everything asked was done")},
         {"error", schema::any("What went wrong and what to do, as a sentence; null when nothing did")},
         {"status", schema::integer("HTTP status of the page", 0, 999)},
         {"matches", schema::integer("Elements that `selector` matches", 0, std::int64_t{1} << 32)},
         {"truncated", schema::boolean("The content was cut")},
         {"timed_out", schema::boolean("The time was over before the page came to rest")},
         {"notes", schema::array("What else happened: dialogs, downloads, windows, requests that were refused",
                                 schema::string(""))},
         {"images", images_schema()},
         {"duration_ms", schema::number("Wall time", 0, 1e9)}},
        {"content", "url", "title", "success", "error"});
    made.annotations = {.read_only = false, .destructive = false, .idempotent = false, .open_world = true};
    return made;
}

std::string text_of(const json::object& from, std::string_view name, std::string otherwise = {})
{
    const json::value* found = from.if_contains(name);
    return found == nullptr ? otherwise : std::string(found->as_string());
}

page_action::kind kind_of(const std::string& name)
{
    using kind = page_action::kind;
    if (name == "click") return kind::click;
    if (name == "type") return kind::type;
    if (name == "press") return kind::press;
    return name == "scroll" ? kind::scroll : kind::wait;
}

page_action read_action(const json::object& from)
{
    page_action made;
    made.what = kind_of(text_of(from, "action"));
    made.selector = text_of(from, "selector");
    made.text = text_of(from, "text");
    made.key = text_of(from, "key");
    made.to = text_of(from, "to", "down");
    if (const json::value* seconds = from.if_contains("seconds"))
        made.time = std::chrono::milliseconds(std::llround(seconds->to_number<double>() * 1000));
    return made;
}

// What the schema cannot say without a union, which several clients do not understand.
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

browse_request read_request(const json::object& arguments)
{
    browse_request asked;
    asked.url = text_of(arguments, "url");
    asked.wait_for = text_of(arguments, "wait_for");
    asked.selector = text_of(arguments, "selector");
    asked.format = text_of(arguments, "format", "html");
    if (const json::value* wanted = arguments.if_contains("screenshot")) asked.screenshot = wanted->as_bool();
    if (const json::value* limit = arguments.if_contains("timeout")) asked.timeout = limit->to_number<double>();
    if (const json::value* actions = arguments.if_contains("actions"))
        for (const auto& each : actions->as_array()) asked.actions.push_back(read_action(each.as_object()));
    return asked;
}

tool_result web_browse_result(browse_result found)
{
    tool_result made;
    made.is_error = !found.success;
    json::object& into = made.structured;
    into["content"] = std::move(found.content);
    into["url"] = std::move(found.url);
    into["title"] = std::move(found.title);
    into["success"] = found.success;
    into["error"] = found.success ? json::value() : json::value(found.error);
    if (found.status != 0) into["status"] = found.status;
    if (found.matches) into["matches"] = *found.matches;
    if (found.truncated) into["truncated"] = true;
    if (found.timed_out) into["timed_out"] = true;
    if (!found.notes.empty()) into["notes"] = json::array(found.notes.begin(), found.notes.end());
    into["duration_ms"] = found.duration.count();
    if (!found.screenshot || found.screenshot->base64.empty()) return made;
    json::object text{{"type", "text"}};
    text["text"] = jsonrpc::write_json(into);
    json::object image{{"type", "image"}};
    image["data"] = std::move(found.screenshot->base64);
    image["mimeType"] = std::move(found.screenshot->media_type);
    made.content = {std::move(text), std::move(image)};
    return made;
}

}  // namespace

web_browse::web_browse(web_browser& browser) : browser_(browser), definition_(web_browse_definition()) {}

awaitable<tool_result> web_browse::call(tool_context& context, json::object arguments)
{
    browse_request asked = read_request(arguments);
    for (std::size_t i = 0; i < asked.actions.size(); ++i) {
        std::string missing = missing_argument(asked.actions[i], i);
        if (missing.empty()) continue;
        browse_result refused;
        refused.url = asked.url;
        refused.error = std::move(missing);
        co_return web_browse_result(std::move(refused));
    }
    auto found = co_await browser_.browse(context.who, context.io, std::move(asked));
    co_return web_browse_result(std::move(found));
}

}  // namespace cmcp
