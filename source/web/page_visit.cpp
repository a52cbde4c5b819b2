#include "web/page_visit.hpp"

#include "async/with_deadline.hpp"
#include "runs/progress_sender.hpp"
#include "text/time_text.hpp"
#include "web/browser_process.hpp"
#include "web/page_scripts.hpp"
#include "web/web_browser_errors.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr auto longest_settling = std::chrono::seconds(5);
constexpr auto to_read_late = std::chrono::seconds(2);
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

// A malformed selector is refused before anything is loaded.
awaitable<> check_selectors(browser_page& page, const browse_request& request)
{
    std::vector<std::string> all{request.wait_for, request.selector};
    for (const auto& action : request.actions) all.push_back(action.selector);
    std::erase(all, std::string());
    for (const auto& selector : all) co_await wait_for_element(page, selector, std::chrono::milliseconds(0));
}

}  // namespace

page_visit::page_visit(browser& from, progress_sender& progress, std::shared_ptr<egress_ticket> ticket,
                       browse_request request, web_url where, visit_limits limits)
    : browser_(from),
      progress_(progress),
      ticket_(std::move(ticket)),
      request_(std::move(request)),
      where_(std::move(where)),
      limits_(limits)
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
        arrived_ = true;
        enter(loading);
        co_await page_->settle(longest_settling);
    }
}

awaitable<> page_visit::act()
{
    constexpr auto longest_wait = std::chrono::hours(1);  // the call's own timeout ends it
    if (!request_.wait_for.empty()) {
        enter("waiting for \"" + request_.wait_for + "\"");
        co_await wait_for_element(*page_, request_.wait_for, longest_wait);
    }
    for (std::size_t i = 0; i < request_.actions.size(); ++i) {
        page_action action = request_.actions[i];
        enter("doing action " + std::to_string(i + 1) + " (" + name_of(action.what) + ")");
        co_await perform(*page_, std::move(action));
    }
}

awaitable<> page_visit::read()
{
    enter(reading);
    json::array arguments{json::value(request_.format), json::value(request_.selector), json::value(limits_.content)};
    const json::value extract =
        co_await evaluate_with_selector(*page_, page_scripts::extract, request_.selector, std::move(arguments));
    fill_result(extract.as_object(), request_, result_);
    has_content_ = true;
    if (!request_.screenshot) co_return;
    result_.screenshot = co_await page_->capture(screenshot_limit);
}

}  // namespace cmcp
