#include "web/page_log.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/number.hpp"
#include "text/url_origin.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t longest_text = 1000;
constexpr std::size_t longest_address = 400;
constexpr std::size_t most_events_of_share = 25;
constexpr std::size_t most_bytes_of_share = 2048;
constexpr std::size_t most_heard = 1000;
constexpr std::size_t most_bytes_heard = 2 << 20;
constexpr std::size_t unread_bytes = 256 << 10;
constexpr std::size_t most_lines = 12;
constexpr std::size_t longest_line = 240;

const json::array& list_of(const json::object& from, std::string_view name)
{
    static const json::array none;
    const auto* member = from.if_contains(name);
    const auto* list = member != nullptr ? member->if_array() : nullptr;
    return list != nullptr ? *list : none;
}

const json::object& as_object(const json::value& value)
{
    static const json::object none;
    const auto* object = value.if_object();
    return object != nullptr ? *object : none;
}

std::string cut(std::string_view text, std::size_t most)
{
    const auto shown = utf8_prefix(text, most);
    return std::string(shown) + (shown.size() < text.size() ? "…" : "");
}

// A member of a preview, whose values are texts.
std::string previewed(const json::object& member, bool is_list)
{
    const auto value = view_of(member, "value");
    std::string text = is_list ? "" : text_of(member, "name") + ": ";
    if (view_of(member, "type") == "string")
        text.append("\"").append(value).append("\"");
    else
        text.append(value.empty() ? view_of(member, "type") : value);
    return text;
}

std::string preview_text(const json::object& preview)
{
    const bool is_list = view_of(preview, "subtype") == "array";
    const auto name = view_of(preview, "description");
    std::string text = is_list || name == "Object" ? "" : std::string(name) + " ";
    text += is_list ? "[" : "{";
    std::string_view between;
    for (const auto& each : list_of(preview, "properties")) {
        text.append(between).append(previewed(as_object(each), is_list));
        between = ", ";
        if (text.size() > longest_text) break;
    }
    if (flag_of(preview, "overflow")) text.append(between).append("…");
    return text += is_list ? "]" : "}";
}

// A Runtime.RemoteObject.
std::string described(const json::object& value)
{
    const auto type = view_of(value, "type"), subtype = view_of(value, "subtype");
    if (type == "string") return cut(view_of(value, "value"), longest_text);
    if (type == "undefined" || subtype == "null") return type == "undefined" ? "undefined" : "null";
    const auto& preview = object_of(value, "preview");
    const bool has_members = !list_of(preview, "properties").empty();
    if (type == "object" && has_members && subtype != "error" && subtype != "node") return preview_text(preview);
    if (const auto text = view_of(value, "description"); !text.empty()) return cut(text, longest_text);
    const auto* plain = value.if_contains("value");
    const bool is_plain = plain != nullptr && (plain->is_number() || plain->is_bool());
    return is_plain ? jsonrpc::write_json(*plain) : std::string(type);
}

// The directives of console.log: %c styles what follows, the others stand for the next argument.
std::string filled_in(std::string_view format, const json::array& arguments, std::size_t& next)
{
    constexpr std::string_view directives = "sdifoOc";
    std::string text;
    for (std::size_t i = 0; i < format.size(); ++i) {
        const char kind = format[i] == '%' && i + 1 < format.size() ? format[i + 1] : '\0';
        const bool is_directive = kind != '\0' && directives.find(kind) != std::string_view::npos;
        if (kind == '%' || (is_directive && next < arguments.size())) ++i;
        if (!is_directive || next >= arguments.size())
            text += format[i];
        else if (const auto& argument = as_object(arguments[next++]); kind != 'c')
            text += described(argument);
    }
    return text;
}

std::string console_text(const json::array& arguments)
{
    std::string text;
    std::size_t next = 0;
    if (!arguments.empty() && view_of(as_object(arguments[0]), "type") == "string") {
        next = 1;
        text = filled_in(utf8_prefix(view_of(as_object(arguments[0]), "value"), longest_text), arguments, next);
    }
    for (; next < arguments.size() && text.size() <= longest_text; ++next)
        text.append(next == 0 ? "" : " ").append(described(as_object(arguments[next])));
    return text;
}

std::size_t bytes_of(const json::array& arguments)
{
    std::size_t bytes = 0;
    for (const auto& each : arguments)
        bytes += view_of(as_object(each), "value").size() + view_of(as_object(each), "description").size();
    return bytes;
}

// Lines and columns are counted from 0.
std::string location_in(std::string_view url, const json::object& location)
{
    if (url.empty()) return {};
    std::string text = cut(url, longest_address);
    for (const char* number : {"lineNumber", "columnNumber"})
        if (const auto from_0 = cmcp::number_of(location, number, -1); from_0 >= 0)
            text.append(":").append(std::to_string(from_0 + 1));
    return text;
}

std::string first_frame(const json::object& stack)
{
    const auto& frames = list_of(stack, "callFrames");
    if (frames.empty()) return {};
    const auto& frame = as_object(frames.front());
    return location_in(view_of(frame, "url"), frame);
}

std::string level_of(std::string_view type)
{
    if (type == "assert") return "error";
    for (const char* level : {"debug", "info", "warning", "error"})
        if (type == level) return level;
    return "log";
}

// What the developer of a page can mend; the rest is advice of the browser's makers.
bool tells_of_page(const json::object& entry)
{
    constexpr std::string_view advice[] = {"deprecation", "violation", "recommendation"};
    const auto source = view_of(entry, "source"), level = view_of(entry, "level");
    if (source == "worker" || entry.contains("workerId")) return true;
    const bool is_advice = std::find(std::begin(advice), std::end(advice), source) != std::end(advice);
    return !is_advice && (level == "error" || level == "warning");
}

bool is_error(const page_event& event) { return event.level == "error" || event.level == "warning"; }

// In one line, which a page cannot break.
std::string line_of(const page_event& event, std::string_view origin)
{
    using kind = page_event::kind;
    std::string_view at = event.at;
    if (!origin.empty() && at.starts_with(origin)) at.remove_prefix(origin.size());
    std::string text = cut(std::string_view(event.text).substr(0, event.text.find('\n')), longest_line);
    std::string line;
    if (event.what == kind::failed_request)
        line.append("Failed request: ")
            .append(at)
            .append(": ")
            .append(event.status != 0 ? std::to_string(event.status) : text);
    else
        line.append(event.what == kind::console ? "console." + event.level + ": " : "Uncaught error: ").append(text);
    if (event.what != kind::failed_request && !at.empty()) line.append(" (").append(at).append(")");
    if (event.times > 1) line.append(", ").append(std::to_string(event.times)).append(" times");
    std::replace_if(
        line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    return line;
}

std::size_t rank(const page_event& event)
{
    if (event.what == page_event::kind::uncaught_error) return 0;
    if (event.what == page_event::kind::failed_request) return 1;
    return is_error(event) ? 2 : 3;
}

}  // namespace

bool page_log::is_flooded() const { return heard_ >= most_heard || heard_bytes_ >= most_bytes_heard; }

bool page_log::hear(std::string_view method, const json::object& params)
{
    if (!method.starts_with("Runtime.") && !method.starts_with("Log.")) return false;
    const bool tells =
        method == "Runtime.consoleAPICalled" || method == "Runtime.exceptionThrown" || method == "Log.entryAdded";
    if (method == unread_event || (tells && is_flooded())) {
        ++heard_;
        ++left_out_;
        heard_bytes_ += unread_bytes;
    } else if (tells) {
        ++heard_;
        if (method == "Runtime.consoleAPICalled")
            hear_console(params);
        else if (method == "Runtime.exceptionThrown")
            hear_exception(object_of(params, "exceptionDetails"));
        else
            hear_entry(object_of(params, "entry"));
    }
    return true;
}

void page_log::hear_console(const json::object& params)
{
    constexpr std::string_view silent[] = {"clear", "endGroup", "profile", "profileEnd"};
    const auto type = view_of(params, "type");
    if (std::find(std::begin(silent), std::end(silent), type) != std::end(silent)) return;
    const auto& arguments = list_of(params, "args");
    heard_bytes_ += bytes_of(arguments);
    page_event event;
    event.level = level_of(type);
    event.text = (type == "assert" ? "Assertion failed: " : "") + console_text(arguments);
    event.at = first_frame(object_of(params, "stackTrace"));
    keep(std::move(event));
}

void page_log::hear_exception(const json::object& details)
{
    const auto& thrown = object_of(details, "exception");
    const bool in_promise = view_of(details, "text").find("(in promise)") != std::string_view::npos;
    page_event event;
    event.what = page_event::kind::uncaught_error;
    event.text = (in_promise ? "(in promise) " : "") + (thrown.empty() ? text_of(details, "text") : described(thrown));
    heard_bytes_ += view_of(thrown, "value").size() + view_of(thrown, "description").size();
    event.at = first_frame(object_of(details, "stackTrace"));
    if (event.at.empty()) event.at = location_in(view_of(details, "url"), details);
    keep(std::move(event));
}

void page_log::hear_entry(const json::object& entry)
{
    constexpr std::string_view failed = "Failed to load resource: ", with_status = "status of ";
    auto text = view_of(entry, "text");
    heard_bytes_ += text.size();
    page_event event;
    event.at = location_in(view_of(entry, "url"), entry);
    if (view_of(entry, "source") == "network" && text.starts_with(failed)) {
        text.remove_prefix(failed.size());
        event.what = page_event::kind::failed_request;
        event.at = cut(view_of(entry, "url"), longest_address);
        const auto status = text.find(with_status);
        if (status != std::string_view::npos)
            event.status = read_number<int>(text.substr(status + with_status.size(), 3)).value_or(0);
    } else if (tells_of_page(entry)) {
        event.level = level_of(view_of(entry, "level"));
    } else {
        return;
    }
    if (event.status == 0) event.text = text;
    keep(std::move(event));
}

page_log::share& page_log::share_of(const page_event& event) { return shares_[rank(event)]; }

void page_log::keep(page_event event)
{
    event.text = cut(event.text, longest_text);
    const auto key = [](const page_event& each) {
        return std::tie(each.what, each.level, each.text, each.at, each.status);
    };
    if (!events_.empty() && key(events_.back()) == key(event)) {
        ++events_.back().times;
        return;
    }
    auto& its = share_of(event);
    const auto bytes = event.text.size() + event.at.size();
    if (its.events == most_events_of_share || its.bytes + bytes > most_bytes_of_share) {
        ++left_out_;
        return;
    }
    ++its.events;
    its.bytes += bytes;
    events_.push_back(std::move(event));
}

std::vector<std::string> page_log_lines(const std::vector<page_event>& events, std::size_t left_out,
                                        std::string_view page)
{
    std::vector<const page_event*> ranked;
    for (const auto& each : events) ranked.push_back(&each);
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto* one, const auto* other) { return rank(*one) < rank(*other); });
    std::vector<std::string> lines;
    const auto shown = std::min(ranked.size(), most_lines);
    for (std::size_t i = 0; i < shown; ++i) lines.push_back(line_of(*ranked[i], origin_of(page)));
    if (const auto rest = ranked.size() - shown + left_out; rest != 0)
        lines.push_back("The page wrote " + std::to_string(rest) + " more " + (rest == 1 ? "message." : "messages."));
    return lines;
}

}  // namespace cmcp
