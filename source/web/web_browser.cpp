#include "web/web_browser.hpp"

#include "async/with_deadline.hpp"
#include "runs/progress_sender.hpp"
#include "runs/runner.hpp"
#include "text/time_text.hpp"
#include "web/browser_process.hpp"
#include "web/page_scripts.hpp"
#include "web/web_browser_errors.hpp"
#include "web/web_browser_setup.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

// One call while it is under way.
struct web_browser::visit {
    browse_request asked;
    web_url where;
    std::shared_ptr<egress_ticket> ticket;
    progress_sender* progress = nullptr;
    std::chrono::milliseconds limit{0};
    std::shared_ptr<browser_page> page;
    std::string phase;
    bool arrived = false;  // there is a page that can be read
    bool has_content = false;
    browse_result result;

    void enter(std::string next)
    {
        phase = std::move(next);
        progress->step(phase);
    }
};

namespace {

constexpr auto longest_settling = std::chrono::seconds(5);
constexpr auto to_read_late = std::chrono::seconds(2);
constexpr std::size_t screenshot_limit = 1 << 20;
constexpr std::size_t most_waiting = 64;
constexpr std::uint64_t most_bytes = 128ull << 20;
constexpr const char* loading = "waiting for the page to load";
constexpr const char* reading = "reading the page";
constexpr const char* no_text =
    "The page shows no text: a screenshot or format html may tell more; if it is a PDF, web_scrape reads it.";

const char* name_of(page_action::kind what)
{
    constexpr const char* names[] = {"click", "type", "press", "scroll", "wait"};
    return names[static_cast<int>(what)];
}

browse_result failed_visit(const std::string& url, std::string sentence)
{
    browse_result made;
    made.url = url;
    made.error = std::move(sentence);
    return made;
}

admission_limits page_limits(const settings& chosen)
{
    admission_limits limits;
    limits.at_once = chosen.web_browser_max_pages;
    limits.per_caller = std::max<std::size_t>(1, limits.at_once - 1);
    limits.waiting = most_waiting;
    limits.what = "page";
    return limits;
}

egress_limits visit_limits()
{
    egress_limits limits;
    limits.bytes = most_bytes;
    return limits;
}

void take(const json::object& found, const browse_request& asked, browse_result& into)
{
    into.content = found.at("content").as_string();
    into.title = found.at("title").as_string();
    into.url = found.at("url").as_string();
    into.status = found.at("status").to_number<int>();
    into.truncated = found.at("truncated").as_bool();
    if (!asked.selector.empty()) into.matches = found.at("matches").to_number<std::size_t>();
}

// A malformed selector is told before anything is loaded.
awaitable<> check_selectors(browser_page& page, const browse_request& asked)
{
    std::vector<std::string> all{asked.wait_for, asked.selector};
    for (const auto& action : asked.actions) all.push_back(action.selector);
    std::erase(all, std::string());
    for (const auto& selector : all) co_await wait_for_element(page, selector, std::chrono::milliseconds(0));
}

}  // namespace

web_browser::web_browser(asio::any_io_executor executor, const settings& chosen, egress_guard& guard)
    : executor_(executor),
      guard_(guard),
      policy_(egress_policy::from_settings(chosen)),
      options_(browser_options_from(chosen)),
      obstacle_(browser_obstacle(chosen)),
      most_content_(chosen.web_browser_max_content),
      timeout_default_(chosen.web_timeout_default),
      timeout_max_(std::max(chosen.web_browser_timeout_max, chosen.web_timeout_default)),
      admission_(page_limits(chosen)),
      browser_(executor, options_, [&guard](asio::ip::tcp::socket client, std::shared_ptr<egress_ticket> ticket) {
          guard.serve(std::move(client), ticket);
      })
{
}

browser_state web_browser::state() const { return browser_.state(); }

awaitable<> web_browser::warm_up()
{
    if (!obstacle_.empty()) throw browser_unavailable(obstacle_);
    co_await browser_.warm_up();
}

awaitable<> web_browser::stop() { co_await browser_.stop(); }

std::string web_browser::refusal(const browse_request& asked, web_url& where) const
{
    try {
        where = web_url::parse(asked.url);
    } catch (const bad_url& problem) {
        return problem.what();
    }
    return obstacle_.empty() ? policy_.judge(where.who, where.port).sentence : obstacle_;
}

awaitable<browse_result> web_browser::browse(caller who, request_io& io, browse_request asked)
{
    const auto kept = std::make_unique<visit>();
    visit& now = *kept;
    std::string refused = refusal(asked, now.where);
    if (!refused.empty()) co_return failed_visit(asked.url, std::move(refused));
    std::string key = admission_key(who);
    auto place = co_await admission_.enter(std::move(key), &io);
    if (!place)
        co_return failed_visit(asked.url,
                               "The browser is busy: too many pages wait for their turn. Try again in a few seconds.");
    now.limit = chosen_timeout(asked.timeout, timeout_default_, timeout_max_);
    now.asked = std::move(asked);
    now.ticket = guard_.issue("web_browse", visit_limits());
    now.result.url = now.where.text();
    progress_sender progress(io);
    now.progress = &progress;
    auto work = visit_in_time(now);
    auto result = co_await with_progress(progress, std::move(work));
    co_return result;
}

awaitable<browse_result> web_browser::visit_in_time(visit& now)
{
    const auto began = std::chrono::steady_clock::now();
    browse_result& result = now.result;
    try {
        auto work = go(now);
        co_await with_deadline(std::move(work), now.limit);
    } catch (const deadline_exceeded&) {
        result.timed_out = true;
    } catch (const browser_unavailable& problem) {
        result.error = problem.what();
    } catch (const devtools_closed& problem) {
        result.error = "Something went wrong while " + now.phase + ": " + problem.what() +
                       ". The browser is started again with the next call.";
    } catch (const devtools_error& problem) {
        result.error = "The browser refused while " + now.phase + ": " + problem.what();
    } catch (const page_error& problem) {
        result.error = "While " + now.phase + ": " + problem.what();
    }
    if (result.timed_out || !result.error.empty()) co_await read_late(now);
    conclude(now);
    result.duration = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    co_return std::move(result);
}

// Also what is left of a page whose packed content is damaged.
bool web_browser::shows_nothing(const visit& now)
{
    const bool asked_for_text = now.asked.selector.empty() && now.asked.format != "html";
    return asked_for_text && now.has_content && now.result.error.empty() && now.result.content.empty();
}

void web_browser::conclude(visit& now)
{
    browse_result& result = now.result;
    if (result.timed_out) conclude_late(now);
    if (now.page) result.notes.insert(result.notes.end(), now.page->notes().begin(), now.page->notes().end());
    const std::string refused = refusal_of_page(*now.ticket, result.url, result.status);
    if (!refused.empty()) {
        result.error = refused;
        result.content.clear();
    }
    if (result.error.empty() && result.status >= 400) result.error = http_sentence(result.url, result.status);
    for (auto& sentence : refusal_notes(*now.ticket, result.error)) result.notes.push_back(std::move(sentence));
    if (shows_nothing(now)) result.notes.push_back(no_text);
    if (result.matches == std::size_t{0})
        result.notes.push_back("No element matches selector \"" + now.asked.selector +
                               "\": call again without selector to see the page, or with wait_for.");
    if (result.truncated)
        result.notes.push_back("The content was cut at " + std::to_string(most_content_ >> 10) +
                               " KiB: use selector or another format for less.");
    if (result.screenshot && result.screenshot->base64.empty())
        result.notes.push_back("The screenshot is too large to be sent.");
    result.success = result.error.empty();
}

// A page that never comes to rest is shown as it is; what was asked of it and did not happen is a failure.
void web_browser::conclude_late(visit& now)
{
    browse_result& result = now.result;
    const std::string after = "Timed out after " + seconds_text(now.limit) + " while " + now.phase;
    const bool readable = now.phase == loading || now.phase == reading;
    if (readable && now.has_content)
        result.notes.push_back(after + ": the content is what was there by then.");
    else if (now.page && now.page->crashed())
        result.error = after + ", and the page was gone.";
    else if (now.arrived && !now.has_content)
        result.error = after + ": the page keeps its thread busy and cannot be read.";
    else
        result.error = after + ". Ask for a longer timeout (at most " + seconds_text(timeout_max_) +
                       ") or for something else" + (now.has_content ? "; the content is what was there by then." : ".");
}

// What is there in spite of a failure helps the caller more than the failure alone.
awaitable<> web_browser::read_late(visit& now)
{
    const std::string phase = now.phase;
    if (now.page && now.arrived && !now.has_content && !now.page->crashed()) {
        now.page->freeze();
        try {
            auto work = read(now);
            co_await with_deadline(std::move(work), to_read_late);
        } catch (const deadline_exceeded&) {
        } catch (const devtools_closed&) {
        } catch (const devtools_error&) {
        } catch (const page_error&) {
        }
    }
    now.phase = phase;
}

awaitable<> web_browser::go(visit& now)
{
    now.enter("starting the browser");
    now.page = co_await browser_.open(now.ticket);
    now.phase = "checking the selectors";
    co_await check_selectors(*now.page, now.asked);
    co_await load(now);
    if (!now.arrived) co_return;
    co_await act(now);
    co_await read(now);
}

awaitable<> web_browser::load(visit& now)
{
    now.enter("connecting to " + now.where.origin());
    std::string url = now.where.text();
    const std::string error = co_await now.page->navigate(url);
    if (!now.page->download().empty()) {
        now.result.error =
            "This address is a download and not a page; downloads are refused. web_scrape reads documents of some "
            "kinds.";
    } else if (!error.empty()) {
        now.result.error = navigation_sentence(error, url, now.where.who.name, *now.ticket);
    } else {
        now.arrived = true;
        now.enter(loading);
        co_await now.page->settle(longest_settling);
    }
}

awaitable<> web_browser::act(visit& now)
{
    constexpr auto longest_wait = std::chrono::hours(1);  // the call's own timeout ends it
    if (!now.asked.wait_for.empty()) {
        now.enter("waiting for \"" + now.asked.wait_for + "\"");
        co_await wait_for_element(*now.page, now.asked.wait_for, longest_wait);
    }
    for (std::size_t i = 0; i < now.asked.actions.size(); ++i) {
        page_action action = now.asked.actions[i];
        now.enter("doing action " + std::to_string(i + 1) + " (" + name_of(action.what) + ")");
        co_await perform(*now.page, std::move(action));
    }
}

awaitable<> web_browser::read(visit& now)
{
    now.enter(reading);
    json::array arguments{json::value(now.asked.format), json::value(now.asked.selector), json::value(most_content_)};
    const json::value found =
        co_await evaluate_with_selector(*now.page, page_scripts::extract, now.asked.selector, std::move(arguments));
    take(found.as_object(), now.asked, now.result);
    now.has_content = true;
    if (!now.asked.screenshot) co_return;
    now.result.screenshot = co_await now.page->capture(screenshot_limit);
}

}  // namespace cmcp
