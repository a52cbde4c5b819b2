#include "web/page_visit.hpp"

#include "async/with_deadline.hpp"
#include "runs/progress_sender.hpp"
#include "text/time_text.hpp"
#include "text/words.hpp"
#include "web/browser_process.hpp"
#include "web/page_scripts.hpp"
#include "web/web_browser_errors.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr auto longest_settling = std::chrono::seconds(5);
constexpr auto to_read_late = std::chrono::seconds(2);
constexpr auto least_to_render = std::chrono::seconds(10);
constexpr std::size_t markup_for_text = 4;  // times the size of what is shown
constexpr std::size_t most_markup = 8 << 20;
constexpr std::size_t screenshot_limit = 1 << 20;
constexpr const char* loading = "waiting for the page to load";
constexpr const char* reading = "reading the page";
constexpr const char* no_text =
    "The page shows no text: a screenshot or format html may tell more; if it is a PDF, web_scrape reads it.";

const char* name_of(page_action::kind what)
{
    constexpr const char* names[] = {"click", "type", "press", "scroll", "wait"};
    return names[static_cast<int>(what)];
}

void fill_result(const json::object& extract, const browse_request& request, browse_result& result)
{
    result.content = extract.at("content").as_string();
    result.title = extract.at("title").as_string();
    result.url = extract.at("url").as_string();
    result.status = extract.at("status").to_number<int>();
    result.truncated = extract.at("truncated").as_bool();
    if (!request.selector.empty()) result.matches = extract.at("matches").to_number<std::size_t>();
}

// Which the browser asks for where a page names no icon.
std::string icon_of(const std::string& page)
{
    try {
        return web_url::parse(page).origin() + "/favicon.ico";
    } catch (const bad_url&) {
        return {};
    }
}

// A malformed selector is refused before anything is loaded.
awaitable<> check_selectors(browser_page& page, const browse_request& request)
{
    std::vector<std::string> all{request.wait_for, request.selector};
    for (const auto& action : request.actions) all.push_back(action.selector);
    std::erase(all, std::string());
    for (const auto& selector : all) {
        json::array arguments{json::value(selector), json::value(0)};
        co_await evaluate_with_selector(page, page_scripts::await_element, selector, std::move(arguments));
    }
}

}  // namespace

page_visit::page_visit(browser& from, progress_sender& progress, std::shared_ptr<egress_ticket> ticket,
                       browse_request request, web_url where, visit_limits limits, page_renderer render)
    : browser_(from),
      progress_(progress),
      ticket_(std::move(ticket)),
      request_(std::move(request)),
      where_(std::move(where)),
      limits_(limits),
      render_(std::move(render))
{
    result_.url = where_.text();
}

void page_visit::enter(std::string phase)
{
    phase_ = std::move(phase);
    progress_.step(phase_);
}

awaitable<browse_result> page_visit::run()
{
    const auto began = std::chrono::steady_clock::now();
    try {
        auto work = go();
        co_await with_deadline(std::move(work), limits_.time);
    } catch (const deadline_exceeded&) {
        result_.timed_out = true;
    } catch (const browser_unavailable& problem) {
        result_.error = problem.what();
    } catch (const devtools_closed& problem) {
        result_.error = "Something went wrong while " + phase_ + ": " + problem.what() +
                        ". The browser is started again with the next call.";
    } catch (const devtools_error& problem) {
        result_.error = "The browser refused while " + phase_ + ": " + problem.what();
    } catch (const page_error& problem) {
        result_.error = "While " + phase_ + ": " + problem.what();
    }
    if (result_.timed_out || !result_.error.empty()) co_await read_late();
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    co_await render(std::max<std::chrono::milliseconds>(least_to_render, limits_.time - spent));
    conclude();
    result_.duration = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    co_return std::move(result_);
}

// A page whose packed content is damaged shows nothing, too.
bool page_visit::shows_nothing() const
{
    const bool wants_text = request_.selector.empty() && request_.format != "html";
    return wants_text && has_content_ && result_.error.empty() && result_.content.empty();
}

void page_visit::conclude()
{
    if (result_.timed_out) conclude_late();
    if (page_) result_.notes.insert(result_.notes.end(), page_->notes().begin(), page_->notes().end());
    const std::string refused = refusal_of_page(*ticket_, result_.url, result_.status);
    if (!refused.empty()) {
        result_.error = refused;
        result_.content.clear();
    }
    if (result_.error.empty() && result_.status >= 400) result_.error = http_sentence(result_.url, result_.status);
    for (auto& sentence : refusal_notes(*ticket_, result_.error)) result_.notes.push_back(std::move(sentence));
    if (page_) conclude_log();
    if (shows_nothing()) result_.notes.push_back(no_text);
    if (result_.matches == std::size_t{0})
        result_.notes.push_back("No element matches selector \"" + request_.selector +
                                "\": call again without selector to see the page, or with wait_for.");
    if (result_.truncated)
        result_.notes.push_back("The content was cut at " + std::to_string(limits_.content >> 10) +
                                " KiB: use selector or another format for less.");
    if (result_.screenshot && result_.screenshot->base64.empty())
        result_.notes.push_back("The screenshot is too large to be sent.");
    result_.success = result_.error.empty();
}

// The page itself is no request of its own, nor is the icon that the browser looks for, and what the guard refused is
// among the notes in a sentence: its answer is none of the server's.
void page_visit::conclude_log()
{
    using kind = page_event::kind;
    const std::string icon = icon_of(result_.url);
    std::vector<page_event> telling;
    for (auto event : page_->log().events()) {
        const bool is_request = event.what == kind::failed_request;
        if (is_request && (event.at == result_.url || event.at == icon)) continue;
        const std::string refused = is_request ? refusal_of_request(*ticket_, event.at, event.status) : std::string();
        if (refused.empty()) {
            telling.push_back(event);
        } else {
            event.text = refused;
            event.status = 0;
        }
        result_.log.push_back(std::move(event));
    }
    for (auto& line : page_log_lines(telling, page_->log().left_out(), result_.url))
        result_.notes.push_back(std::move(line));
}

// A page that never comes to rest is shown as it is. An action that did not happen is a failure.
void page_visit::conclude_late()
{
    const std::string after = "Timed out after " + seconds_text(limits_.time) + " while " + phase_;
    const bool readable = phase_ == loading || phase_ == reading;
    if (readable && has_content_)
        result_.notes.push_back(after + ": the content is what was there by then.");
    else if (page_ && page_->crashed())
        result_.error = after + ", and the page was gone.";
    else if (arrived_ && !has_content_)
        result_.error = after + ": the page keeps its thread busy and cannot be read.";
    else
        result_.error = after + ". Ask for a longer timeout (at most " + seconds_text(limits_.longest_time) +
                        ") or for something else" + (has_content_ ? "; the content is what was there by then." : ".");
}

// The content in spite of a failure helps the caller more than the failure alone.
awaitable<> page_visit::read_late()
{
    const std::string phase = phase_;
    if (page_ && arrived_ && !has_content_ && !page_->crashed()) {
        page_->freeze();
        try {
            auto work = read();
            co_await with_deadline(std::move(work), to_read_late);
        } catch (const deadline_exceeded&) {
        } catch (const devtools_closed&) {
        } catch (const devtools_error&) {
        } catch (const page_error&) {
        }
    }
    phase_ = phase;
}

awaitable<> page_visit::go()
{
    enter("starting the browser");
    page_ = co_await browser_.open(ticket_);
    phase_ = "checking the selectors";
    co_await check_selectors(*page_, request_);
    co_await load();
    if (!arrived_) co_return;
    co_await act();
    co_await read();
}

awaitable<> page_visit::load()
{
    enter("connecting to " + where_.origin());
    std::string url = where_.text();
    const std::string error = co_await page_->navigate(url);
    if (!page_->download().empty()) {
        result_.error =
            "This address is a download and not a page; downloads are refused. web_scrape reads documents of some "
            "kinds.";
    } else if (!error.empty()) {
        result_.error = navigation_sentence(error, url, where_.who.name, *ticket_);
    } else {
        co_await notice_refusal();
        if (!result_.error.empty()) co_return;
        arrived_ = true;
        enter(loading);
        co_await page_->settle(longest_settling);
    }
}

// The guard's answer instead of the page is a page for the browser; what comes next would wait for its elements.
awaitable<> page_visit::notice_refusal()
{
    if (ticket_->refusals().empty()) co_return;
    constexpr const char* function =
        "function() { const timing = performance.getEntriesByType('navigation')[0];"
        "return { url: location.href.slice(0, 8000), status: timing ? timing.responseStatus : 0 } }";
    const json::value answer = co_await page_->evaluate(function, json::array());
    if (!answer.is_object()) co_return;
    const std::string url(answer.at("url").as_string());
    const int status = answer.at("status").to_number<int>();
    result_.error = refusal_of_page(*ticket_, url, status);
    if (result_.error.empty()) co_return;
    result_.url = url;
    result_.status = status;
}

awaitable<> page_visit::act()
{
    constexpr auto longest_wait = std::chrono::hours(1);  // the call's own timeout ends it
    if (!request_.wait_for.empty()) {
        enter("waiting for \"" + request_.wait_for + "\"");
        co_await find_element(*page_, request_.wait_for, longest_wait);
    }
    for (std::size_t i = 0; i < request_.actions.size(); ++i) {
        page_action action = request_.actions[i];
        enter("doing action " + std::to_string(i + 1) + " (" + name_of(action.what) + ")" +
              (action.selector.empty() ? "" : " on \"" + action.selector + "\""));
        co_await perform(*page_, std::move(action));
    }
}

std::size_t page_visit::longest_extract() const
{
    return request_.format == "html" ? limits_.content : std::min(limits_.content * markup_for_text, most_markup);
}

awaitable<json::object> page_visit::extract_in(page_frame frame, std::string selector)
{
    json::array arguments{json::value(request_.format), json::value(selector), json::value(longest_extract())};
    json::value extract;
    if (frame.id.empty())
        extract = co_await evaluate_with_selector(*page_, page_scripts::extract, selector, std::move(arguments));
    else
        extract = co_await page_->evaluate_in(std::move(frame), page_scripts::extract, std::move(arguments));
    if (!extract.is_object()) throw page_error("the page gave no content.");
    co_return std::move(extract.as_object());
}

// Hands the content to the page that holds the frame, which shows it instead of the frame.
awaitable<bool> page_visit::read_frame(page_frame frame)
{
    try {
        const json::value box = co_await page_->evaluate_on(frame, page_scripts::frame_box, json::array());
        if (!box.at("shown").as_bool()) co_return true;
        std::string whole;
        page_frame one = frame;
        auto extract = co_await extract_in(std::move(one), std::move(whole));
        std::string content(extract.at("content").as_string());
        if (request_.format == "html") content = "<!-- frame: " + frame.url + " -->\n" + content;
        json::array arguments{json::value(content)};
        co_await page_->evaluate_on(frame, page_scripts::frame_content, std::move(arguments));
        co_return true;
    } catch (const devtools_error&) {
    } catch (const page_crashed&) {
        throw;
    } catch (const page_error&) {
    }
    co_return false;
}

awaitable<> page_visit::read_frames(std::vector<page_frame> frames)
{
    std::vector<std::string> unread;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        page_frame one = *frame;
        const bool was_read = co_await read_frame(std::move(one));
        if (!was_read) unread.push_back(frame->url);
    }
    if (!unread.empty())
        result_.notes.push_back("The content of " + std::to_string(unread.size()) +
                                (unread.size() == 1 ? " frame" : " frames") +
                                " could not be read: " + joined(unread, ", ").substr(0, 1000));
}

// The matches in frames come behind those in the page.
awaitable<> page_visit::find_in_frames(std::vector<page_frame> frames)
{
    for (const auto& each : frames) {
        page_frame one = each;
        try {
            const auto extract = co_await extract_in(std::move(one), request_.selector);
            const auto matches = extract.at("matches").to_number<std::size_t>();
            if (matches == 0) continue;
            const bool follows = !result_.content.empty() && request_.format == "html";
            result_.content += (follows ? "\n" : "") + std::string(extract.at("content").as_string());
            result_.matches = result_.matches.value_or(0) + matches;
            result_.truncated = result_.truncated || extract.at("truncated").as_bool();
        } catch (const devtools_error&) {
        }
    }
}

awaitable<> page_visit::read()
{
    enter(reading);
    const auto frames = co_await page_->frames();
    co_await read_frames(frames);
    page_frame page;
    const auto extract = co_await extract_in(std::move(page), request_.selector);
    fill_result(extract, request_, result_);
    if (!request_.selector.empty()) co_await find_in_frames(frames);
    has_content_ = true;
    for (const auto& name : extract.at("closed").as_array())
        result_.notes.push_back("The content of <" + std::string(name.as_string()) +
                                "> seems to be in a closed shadow root, which cannot be read; a screenshot shows it.");
    if (!request_.screenshot) co_return;
    result_.screenshot = co_await page_->capture(screenshot_limit);
}

// By the same program as for web_scrape, so that a page is the same text in both.
awaitable<> page_visit::render(std::chrono::milliseconds left)
{
    if (!has_content_ || request_.format == "html" || result_.content.empty()) co_return;
    page_wish wish;
    wish.kind = "rendered";
    wish.base = result_.url;
    wish.format = request_.format;
    wish.max_length = limits_.content;
    std::string markup = std::exchange(result_.content, {});
    auto answer = co_await render_(std::move(markup), std::move(wish), left);
    if (const auto* problem = answer.if_contains("error")) {
        if (result_.error.empty()) result_.error = std::string(problem->as_string());
        co_return;
    }
    result_.content = answer.at("content").as_string();
    result_.truncated = result_.truncated || answer.at("truncated").as_bool();
}

}  // namespace cmcp
