#include "web/page_actions.hpp"

#include "text/utf8_text.hpp"
#include "text/words.hpp"
#include "web/page_scripts.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace cmcp {
namespace {

constexpr auto to_appear = std::chrono::seconds(5);  // an element that an action names

std::string malformed(const std::string& selector)
{
    return "\"" + selector +
           "\" is not a valid CSS selector: correct it (for example \"#id\", \".class\", \"form input[name=q]\").";
}

std::string missing(const std::string& selector)
{
    return "no element matches \"" + selector +
           "\" on the page (waited 5 s), in its frames and open shadow roots; look at the page with format html and "
           "take "
           "the selector from there.";
}

awaitable<frame_path> require_element(browser_page& page, std::string selector)
{
    auto path = co_await find_element(page, selector, to_appear);
    if (!path) throw page_error(missing(selector));
    frame_path way = std::move(*path);
    co_return way;
}

awaitable<json::value> evaluate_along(browser_page& page, frame_path path, std::string_view function,
                                      json::array arguments)
{
    json::value value;
    if (path.empty()) {
        value = co_await page.evaluate(function, std::move(arguments));
    } else {
        page_frame last = std::move(path.back());
        value = co_await page.evaluate_in(std::move(last), function, std::move(arguments));
    }
    co_return value;
}

struct offset {
    double x = 0, y = 0;
};

// Where the page of the last frame begins. Scrolling an outer frame moves the inner ones, so that the second round
// counts.
awaitable<offset> offset_of(browser_page& page, frame_path path)
{
    offset sum;
    for (int round = 0; round < 2 && !path.empty(); ++round) {
        sum = {};
        for (const auto& frame : path) {
            const json::value box = co_await page.evaluate_on(frame, page_scripts::frame_box, json::array());
            sum.x += box.at("x").to_number<double>();
            sum.y += box.at("y").to_number<double>();
        }
    }
    co_return sum;
}

json::object mouse(const char* type, double x, double y)
{
    json::object event{{"type", type}, {"x", x}, {"y", y}};
    if (std::string_view(type) == "mouseMoved") return event;
    event["button"] = "left";
    event["clickCount"] = 1;
    return event;
}

awaitable<> click(browser_page& page, std::string selector)
{
    const frame_path path = co_await require_element(page, selector);
    json::array arguments{json::value(selector)};
    const json::value position_or_null =
        co_await evaluate_along(page, path, page_scripts::locate, std::move(arguments));
    if (!position_or_null.is_object()) throw page_error(missing(selector));
    const json::object& position = position_or_null.get_object();
    if (!position.at("visible").as_bool())
        throw page_error("the element that matches \"" + selector +
                         "\" is not visible: click what makes it visible first.");
    const offset begin = co_await offset_of(page, path);
    const double x = begin.x + position.at("x").to_number<double>();
    const double y = begin.y + position.at("y").to_number<double>();
    for (const char* type : {"mouseMoved", "mousePressed", "mouseReleased"}) {
        auto event = mouse(type, x, y);
        co_await page.command("Input.dispatchMouseEvent", std::move(event));
    }
}

awaitable<> type(browser_page& page, std::string selector, std::string text)
{
    frame_path path = co_await require_element(page, selector);
    json::array arguments{json::value(selector), json::value(text)};
    const json::value answer =
        co_await evaluate_along(page, std::move(path), page_scripts::focus_field, std::move(arguments));
    const std::string how = answer.is_string() ? std::string(answer.get_string()) : std::string();
    if (how == "chosen") co_return;
    if (how != "typed") throw page_error("\"" + selector + "\" cannot be typed into: " + how + ".");
    if (text.empty()) {
        page_action clear;
        clear.what = page_action::kind::press;
        clear.key = "Delete";
        co_await perform(page, std::move(clear));
        co_return;
    }
    json::object event{{"text", std::move(text)}};
    co_await page.command("Input.insertText", std::move(event));
}

/// A key as Input.dispatchKeyEvent takes it (UI Events: KeyboardEvent.key and code).
struct page_key {
    std::string key;
    std::string code;
    int number = 0;    ///< keyCode
    std::string text;  ///< what it types; empty: nothing
};

struct named_key {
    const char* name;
    int number;
    const char* text;
};

constexpr named_key named[] = {
    {"Enter", 13, "\r"},    {"Tab", 9, ""},      {"Escape", 27, ""},    {"Backspace", 8, ""},
    {"Delete", 46, ""},     {"ArrowUp", 38, ""}, {"ArrowDown", 40, ""}, {"ArrowLeft", 37, ""},
    {"ArrowRight", 39, ""}, {"PageUp", 33, ""},  {"PageDown", 34, ""},  {"Home", 36, ""},
    {"End", 35, ""},        {"Space", 32, " "},  {"F1", 112, ""},       {"F5", 116, ""}};

// By its name ("Enter", "ArrowDown") or as one character; nothing when there is no such key.
std::optional<page_key> find_key(std::string_view name)
{
    for (const auto& each : named) {
        if (name != each.name) continue;
        const std::string key = name == "Space" ? " " : std::string(name);
        return page_key{key, std::string(name), each.number, each.text};
    }
    if (name.empty() || name.size() != first_character(name).needs) return std::nullopt;
    page_key character{std::string(name), {}, 0, std::string(name)};
    const auto byte = static_cast<unsigned char>(name[0]);
    if (std::isalnum(byte)) {
        character.number = std::toupper(byte);
        character.code = (std::isdigit(byte) ? "Digit" : "Key") + std::string(1, static_cast<char>(character.number));
    }
    return character;
}

std::string key_names()
{
    std::vector<std::string> names;
    for (const auto& each : named) names.emplace_back(each.name);
    return joined(names, ", ");
}

json::object key_event(const char* type, const page_key& key)
{
    json::object event{{"type", type}, {"key", key.key}, {"code", key.code}, {"windowsVirtualKeyCode", key.number}};
    if (std::string_view(type) == "keyDown" && !key.text.empty()) event["text"] = key.text;
    return event;
}

awaitable<> press(browser_page& page, std::string selector, std::string name)
{
    const auto key = find_key(name);
    if (!key) throw page_error("there is no key \"" + name + "\": use one character, or one of " + key_names() + ".");
    if (!selector.empty()) {
        frame_path path = co_await require_element(page, selector);
        json::array arguments{json::value(selector)};
        co_await evaluate_along(page, std::move(path), page_scripts::focus, std::move(arguments));
    }
    for (const char* each : {key->text.empty() ? "rawKeyDown" : "keyDown", "keyUp"}) {
        auto event = key_event(each, *key);
        co_await page.command("Input.dispatchKeyEvent", std::move(event));
    }
}

awaitable<> scroll(browser_page& page, std::string selector, std::string to)
{
    frame_path path;
    if (!selector.empty()) path = co_await require_element(page, selector);
    json::array arguments{json::value(selector), json::value(to)};
    co_await evaluate_along(page, std::move(path), page_scripts::scroll, std::move(arguments));
}

awaitable<> wait(browser_page& page, std::string selector, std::chrono::milliseconds time)
{
    if (selector.empty()) {
        auto executor = co_await asio::this_coro::executor;
        asio::steady_timer timer(executor, time);
        co_await timer.async_wait(asio::use_awaitable);
        co_return;
    }
    const auto limit = time.count() == 0 ? std::chrono::milliseconds(to_appear) : time;
    const auto there = co_await find_element(page, selector, limit);
    if (!there)
        throw page_error("no element matched \"" + selector + "\" within " + std::to_string(limit.count()) + " ms.");
}

}  // namespace

awaitable<json::value> evaluate_with_selector(browser_page& page, std::string_view function, std::string selector,
                                              json::array arguments)
{
    try {
        auto value = co_await page.evaluate(function, std::move(arguments));
        co_return value;
    } catch (const page_crashed&) {
        throw;
    } catch (const page_error& problem) {
        const std::string text = problem.what();
        if (text.find("valid selector") == std::string::npos) throw;
    }
    throw page_error(malformed(selector));
}

namespace {

frame_path path_to(const std::vector<page_frame>& all, page_frame last)
{
    frame_path path{std::move(last)};
    for (auto at = all.rbegin(); at != all.rend(); ++at)
        if (at->id == path.front().parent) path.insert(path.begin(), *at);
    return path;
}

// A frame may go, or another page come into it, while it is looked at.
awaitable<bool> is_in_frame(browser_page& page, page_frame frame, std::string selector)
{
    try {
        json::array arguments{json::value(selector), json::value(0)};
        const json::value there =
            co_await page.evaluate_in(std::move(frame), page_scripts::await_element, std::move(arguments));
        co_return there.is_bool() && there.get_bool();
    } catch (const devtools_error&) {
        co_return false;
    }
}

}  // namespace

awaitable<std::optional<frame_path>> find_element(browser_page& page, std::string selector,
                                                  std::chrono::milliseconds limit)
{
    using clock = std::chrono::steady_clock;
    constexpr auto longest_wait = std::chrono::milliseconds(500);  // frames are asked between two
    const auto end = clock::now() + limit;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now());
        const auto wait = std::clamp(left, std::chrono::milliseconds(0), longest_wait);
        json::array arguments{json::value(selector), json::value(wait.count())};
        const json::value here =
            co_await evaluate_with_selector(page, page_scripts::await_element, selector, std::move(arguments));
        if (here.is_bool() && here.get_bool()) co_return frame_path();
        const auto frames = co_await page.frames();
        for (const auto& frame : frames) {
            const bool there = co_await is_in_frame(page, frame, selector);
            if (there) co_return path_to(frames, frame);
        }
        if (left <= longest_wait) co_return std::nullopt;
    }
}

awaitable<> perform(browser_page& page, page_action action)
{
    using kind = page_action::kind;
    if (action.what == kind::wait) {
        co_await wait(page, std::move(action.selector), action.time);
        co_return;
    }
    if (action.what == kind::click) co_await click(page, std::move(action.selector));
    if (action.what == kind::type) co_await type(page, std::move(action.selector), std::move(action.text));
    if (action.what == kind::press) co_await press(page, std::move(action.selector), std::move(action.key));
    if (action.what == kind::scroll) co_await scroll(page, std::move(action.selector), std::move(action.to));
    co_await page.settle_after_action();
}

}  // namespace cmcp
