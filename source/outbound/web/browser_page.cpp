#include "web/browser_page.hpp"

#include "async/with_deadline.hpp"
#include "jsonrpc/read_object.hpp"
#include "text/utf8_text.hpp"
#include "web/page_scripts.hpp"

#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t most_notes = 20;
constexpr std::size_t most_frames = 30;
constexpr std::size_t longest_quote = 200;
constexpr int times_to_try = 4;
constexpr int frames_of_stack = 4;
constexpr auto after_action = std::chrono::seconds(5);

std::string quoted(const std::string& text)
{
    const std::string_view shown = utf8_prefix(text, longest_quote);
    return "\"" + std::string(shown) + (shown.size() < text.size() ? "…\"" : "\"");
}

// The document was replaced while something ran in it.
bool went_away(const devtools_error& error)
{
    const std::string_view text = error.what();
    for (const char* sign :
         {"Cannot find context", "context was destroyed", "Inspected target navigated", "uniqueContextId not found",
          "Frame with the given id", "No frame for given id", "Cannot find execution context"})
        if (text.find(sign) != std::string_view::npos) return true;
    return false;
}

// The browser shows a page of its own instead of a frame that could not be loaded.
void gather_frames(const json::object& tree, const std::string& parent, std::vector<page_frame>& into)
{
    const json::object& frame = object_of(tree, "frame");
    const std::string id = text_of(frame, "id");
    const bool is_missing = !parent.empty() && !text_of(frame, "unreachableUrl").empty();
    if (into.size() == most_frames || is_missing) return;
    if (!parent.empty()) into.push_back({id, parent, text_of(frame, "url")});
    const json::value* below = tree.if_contains("childFrames");
    if (below == nullptr || !below->is_array()) return;
    for (const auto& each : below->get_array())
        if (each.is_object()) gather_frames(each.get_object(), id, into);
}

std::string exception_text(const json::object& details)
{
    const std::string described = text_of(object_of(details, "exception"), "description");
    const std::string all = described.empty() ? text_of(details, "text") : described;
    return all.substr(0, all.find('\n'));
}

}  // namespace

browser_page::browser_page(std::shared_ptr<devtools_connection> connection, std::string session, std::string frame)
    : connection_(std::move(connection)), session_(std::move(session)), frame_(std::move(frame))
{
    connection_->listen(session_,
                        [this](const std::string& method, const json::object& params) { hear(method, params); });
}

browser_page::~browser_page() { connection_->ignore(session_); }

awaitable<> browser_page::prepare()
{
    // The window's own size includes its bars.
    json::object size{{"width", 1280}, {"height", 800}, {"deviceScaleFactor", 1}, {"mobile", false}};
    connection_->send(session_, "Inspector.enable", {});
    connection_->send(session_, "Emulation.setDeviceMetricsOverride", std::move(size));
    connection_->send(session_, "Runtime.runIfWaitingForDebugger", {});
    connection_->send(session_, "Page.setLifecycleEventsEnabled", {{"enabled", true}});
    connection_->send(session_, "Runtime.enable", {});
    connection_->send(session_, "Runtime.setMaxCallStackSizeToCapture", {{"size", frames_of_stack}});
    connection_->send(session_, "Log.enable", {});
    co_await command("Page.enable", json::object());
}

awaitable<json::object> browser_page::command(std::string method, json::object params)
{
    check_alive();
    try {
        auto result = co_await connection_->call(session_, std::move(method), std::move(params));
        co_return result;
    } catch (const devtools_error&) {
        check_alive();
        throw;
    }
}

void browser_page::check_alive() const
{
    if (!connection_->open()) throw devtools_closed(connection_->closed_because());
    if (!gone_.empty()) throw page_crashed(gone_);
}

awaitable<std::string> browser_page::navigate(std::string url)
{
    json::object params{{"url", url}};
    loading_ = true;
    auto result = co_await command("Page.navigate", std::move(params));
    const std::string loader = text_of(result, "loaderId");
    if (!loader.empty() && loader != loader_) {
        loader_ = loader;
        reached_.clear();
        world_ = 0;
    }
    // Page.downloadWillBegin may come later than this answer.
    const json::value* download = result.if_contains("isDownload");
    if (download != nullptr && *download == true && download_.empty()) download_ = url;
    co_return text_of(result, "errorText");
}

bool browser_page::main_frame(const json::object& params) const { return text_of(params, "frameId") == frame_; }

// A page may write without end; the browser has to keep it to itself.
void browser_page::stop_log_when_flooded()
{
    if (!log_.is_flooded() || !std::exchange(logs_, false)) return;
    connection_->send(session_, "Runtime.disable", {});
    connection_->send(session_, "Log.disable", {});
}

void browser_page::hear(const std::string& method, const json::object& params)
{
    if (log_.hear(method, params)) return stop_log_when_flooded();
    if (method == "Page.lifecycleEvent")
        hear_lifecycle(params);
    else if (method == "Page.javascriptDialogOpening")
        hear_dialog(params);
    else if (method == "Page.frameStartedLoading" && main_frame(params))
        loading_ = true;
    else if (method == "Page.frameStoppedLoading" && main_frame(params))
        loading_ = false;
    else if (method == "Page.windowOpen")
        note_window(text_of(params, "url"));
    else if (method == "Inspector.targetCrashed")
        lose("the page crashed: it needed more memory than it may have, or hit a fault of the browser.");
    else if (method == "Inspector.detached")
        lose("the page closed itself.");
    else if (method == "Page.downloadWillBegin") {
        download_ = text_of(params, "url");
        note("A download was refused: " + quoted(text_of(params, "suggestedFilename")) + " from " + download_);
    }
    changed_.notify();
}

void browser_page::hear_lifecycle(const json::object& params)
{
    if (!main_frame(params)) return;
    const std::string loader = text_of(params, "loaderId");
    const std::string name = text_of(params, "name");
    // "init" and "commit" come first for a new document. Late events of the old document must not count.
    if (loader != loader_ && (name == "init" || name == "commit")) {
        loader_ = loader;
        reached_.clear();
        world_ = 0;
    }
    if (loader == loader_ && (name == "load" || name == "networkIdle")) reached_.insert(name);
}

void browser_page::hear_dialog(const json::object& params)
{
    const std::string kind = text_of(params, "type");
    connection_->send(session_, "Page.handleJavaScriptDialog", {{"accept", kind == "beforeunload"}});
    if (kind != "beforeunload")
        note("The page showed a dialog (" + kind + "), which was dismissed: " + quoted(text_of(params, "message")));
}

void browser_page::note_window(const std::string& url)
{
    note("The page wanted to open a new window, which was refused" + (url.empty() ? "." : ": " + url));
}

void browser_page::lose(std::string why)
{
    if (gone_.empty()) gone_ = std::move(why);
    connection_->abandon(session_, gone_);
}

void browser_page::note(std::string sentence)
{
    if (notes_.size() == most_notes) notes_.emplace_back("More of that kind was left out.");
    if (notes_.size() > most_notes) return;
    if (!notes_.empty() && notes_.back() == sentence) return;
    notes_.push_back(std::move(sentence));
}

bool browser_page::is_loaded() const { return reached_.contains("load"); }
bool browser_page::is_quiet() const { return is_loaded() && reached_.contains("networkIdle") && !loading_; }
bool browser_page::has_stopped() const { return !loading_; }

awaitable<> browser_page::wait_until(bool (browser_page::*condition)() const)
{
    while (!(this->*condition)()) {
        check_alive();
        co_await changed_.wait();
    }
}

awaitable<> browser_page::settle(std::chrono::milliseconds longest)
{
    co_await wait_until(&browser_page::is_loaded);
    // Chromium looks whether the network is idle at the end of a task, so empty tasks let it look in time.
    constexpr const char* has_script =
        "function() { const found = document.querySelector('script,iframe,frame,[onload],meta[http-equiv]') !== null;"
        "if (found) { const beat = setInterval(() => {}, 40); setTimeout(() => clearInterval(beat), 5000) }"
        "return found }";
    const json::value busy = co_await evaluate(has_script, json::array());
    if (busy.is_bool() && !busy.get_bool() && !loading_) co_return;
    auto quiet = wait_until(&browser_page::is_quiet);
    try {
        co_await with_deadline(std::move(quiet), longest);
    } catch (const deadline_exceeded&) {
        // A page that never comes to rest is shown as it is by now.
    }
}

awaitable<> browser_page::settle_after_action()
{
    const std::string before = loader_;
    // A navigation that the action set off is announced before the second frame is drawn.
    constexpr const char* next_frames =
        "function() { return new Promise(done => { setTimeout(done, 100); "
        "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))) }) }";
    co_await evaluate(next_frames, json::array());
    if (!loading_ && loader_ == before) co_return;
    co_await wait_until(&browser_page::has_stopped);
    co_await settle(after_action);
}

awaitable<std::int64_t> browser_page::world_of(std::string frame)
{
    json::object params{{"frameId", std::move(frame)}, {"worldName", "container-mcp"}};
    auto created = co_await command("Page.createIsolatedWorld", std::move(params));
    co_return created.at("executionContextId").to_number<std::int64_t>();
}

awaitable<std::int64_t> browser_page::world()
{
    if (world_ != 0) co_return world_;
    const std::string loader = loader_;
    const auto id = co_await world_of(frame_);
    if (loader == loader_) world_ = id;
    co_return id;
}

awaitable<json::value> browser_page::call_function(json::object where, std::string_view function, json::array arguments)
{
    json::array wrapped;
    for (auto& argument : arguments) wrapped.push_back(json::object{{"value", std::move(argument)}});
    const std::string whole = "function(...all) {\n" + std::string(page_scripts::reach) + "\nreturn (" +
                              std::string(function) + ").apply(this, all) }";
    where["functionDeclaration"] = whole;
    where["arguments"] = std::move(wrapped);
    where["returnByValue"] = true;
    where["awaitPromise"] = true;
    auto answer = co_await command("Runtime.callFunctionOn", std::move(where));
    if (answer.contains("exceptionDetails")) throw page_error(exception_text(object_of(answer, "exceptionDetails")));
    json::value* value = answer["result"].as_object().if_contains("value");
    co_return value != nullptr ? std::move(*value) : json::value();
}

awaitable<json::value> browser_page::evaluate_once(std::string_view function, json::array arguments)
{
    const auto context = co_await world();
    json::object where{{"executionContextId", context}};
    auto value = co_await call_function(std::move(where), function, std::move(arguments));
    co_return value;
}

awaitable<json::value> browser_page::evaluate_in(page_frame frame, std::string_view function, json::array arguments)
{
    const auto context = co_await world_of(std::move(frame.id));
    json::object where{{"executionContextId", context}};
    auto value = co_await call_function(std::move(where), function, std::move(arguments));
    co_return value;
}

awaitable<json::value> browser_page::evaluate_on(page_frame frame, std::string_view function, json::array arguments)
{
    json::object wanted{{"frameId", std::move(frame.id)}};
    auto owner = co_await command("DOM.getFrameOwner", std::move(wanted));
    const auto context = co_await world_of(std::move(frame.parent));
    json::object node{{"backendNodeId", owner.at("backendNodeId")}, {"executionContextId", context}};
    auto resolved = co_await command("DOM.resolveNode", std::move(node));
    json::object where{{"objectId", text_of(object_of(resolved, "object"), "objectId")}};
    auto value = co_await call_function(std::move(where), function, std::move(arguments));
    co_return value;
}

awaitable<std::vector<page_frame>> browser_page::frames()
{
    auto answer = co_await command("Page.getFrameTree", json::object());
    std::vector<page_frame> all;
    gather_frames(object_of(answer, "frameTree"), {}, all);
    co_return all;
}

awaitable<json::value> browser_page::evaluate(std::string_view function, json::array arguments)
{
    for (int tried = 1;; ++tried) {
        try {
            auto value = co_await evaluate_once(function, arguments);
            co_return value;
        } catch (const devtools_error& error) {
            check_alive();
            if (tried == times_to_try || !went_away(error)) throw;
            world_ = 0;
        }
    }
}

void browser_page::freeze()
{
    connection_->send(session_, "Page.stopLoading", {});
    connection_->send(session_, "Emulation.setScriptExecutionDisabled", {{"value", true}});
    connection_->send(session_, "Runtime.terminateExecution", {});
}

awaitable<std::string> browser_page::capture_once(std::string_view format, int quality)
{
    json::object params{{"format", format}, {"optimizeForSpeed", format == "jpeg"}};
    if (quality != 0) params["quality"] = quality;
    auto answer = co_await command("Page.captureScreenshot", std::move(params));
    co_return text_of(answer, "data");
}

awaitable<browser_screenshot> browser_page::capture(std::size_t most_bytes)
{
    const std::size_t most_characters = most_bytes / 3 * 4;
    constexpr std::pair<const char*, int> ways[] = {{"png", 0}, {"jpeg", 75}, {"jpeg", 40}, {"jpeg", 15}};
    for (const auto& [format, quality] : ways) {
        auto data = co_await capture_once(format, quality);
        if (data.size() > most_characters) continue;
        browser_screenshot screenshot{std::string("image/") + format, std::move(data)};
        co_return screenshot;
    }
    co_return browser_screenshot();
}

}  // namespace cmcp
