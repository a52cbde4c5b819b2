#include "web/web_scraper.hpp"

#include "runs/progress_sender.hpp"
#include "text/utf8_cleaner.hpp"
#include "web/web_content.hpp"

#include <utility>

namespace cmcp {
namespace {

using clock = std::chrono::steady_clock;

constexpr const char* accepted =
    "text/html,application/xhtml+xml,application/xml;q=0.9,text/*;q=0.8,application/json;q=0.8,"
    "application/pdf;q=0.7,*/*;q=0.1";

admission_limits fetches_at_once(const settings& chosen)
{
    admission_limits limits;
    limits.at_once = chosen.web_max_connections;
    limits.per_caller = chosen.web_max_connections;
    limits.waiting = 1024;
    limits.what = "page";
    return limits;
}

json::object failed_scrape(const std::string& url, std::string sentence, std::string reason)
{
    json::object made;
    made["content"] = "";
    made["url"] = url;
    made["title"] = "";
    made["success"] = false;
    made["error"] = std::move(sentence);
    made["reason"] = std::move(reason);
    return made;
}

void add_hint(json::object& to, const std::string& hint)
{
    if (hint.empty()) return;
    json::value& all = to["hint"];
    const std::string before = all.is_string() ? std::string(all.as_string()) + " " : "";
    all = before + hint;
}

void describe(json::object& made, const fetch_reply& page)
{
    made["url"] = page.url.text();
    made["status"] = page.status;
    made["content_type"] = page.type;
    made["success"] = true;
    made["error"] = nullptr;
    if (!made.contains("title")) made["title"] = "";
    if (page.status < 400) return;
    made["success"] = false;
    made["error"] = page.url.origin() + " answered " + std::to_string(page.status) + " " + page.status_text +
                    "; what it sent with that is in content.";
    made["reason"] = "http_status";
}

json::object from_text(std::string text, const scrape_request& asked)
{
    json::object made;
    const auto shown = utf8_prefix(text, asked.max_length);
    made["truncated"] = shown.size() < text.size();
    made["length"] = text.size();
    made["content"] = json::string_view(shown.data(), shown.size());
    if (asked.selector) add_hint(made, "selector was not used: the page is no HTML.");
    return made;
}

void add_hints(json::object& made, const scrape_request& asked)
{
    const auto* matches = made.if_contains("matches");
    if (matches != nullptr && *matches == 0)
        add_hint(made, "The selector matched nothing that is visible on this page; try a simpler one, or none.");
    const auto* cut = made.if_contains("truncated");
    if (cut != nullptr && cut->is_bool() && cut->get_bool())
        add_hint(made, "content was cut after " + std::to_string(asked.max_length) +
                           " characters: choose a part of the page with selector, or give a larger max_length.");
}

}  // namespace

web_scraper::web_scraper(const settings& chosen, http_client& client, std::shared_ptr<const egress_policy> policy,
                         sandbox::backend& backend, run_admission& runs, blocking_pool& pool)
    : client_(client),
      policy_(std::move(policy)),
      pool_(pool),
      fetches_(fetches_at_once(chosen)),
      reader_(chosen, backend, runs)
{
    model_.accept = accepted;
    model_.max_bytes = chosen.web_max_size;
    model_.max_redirects = chosen.web_max_redirects;
    model_.timeout = chosen.web_timeout_default;
    model_.check = refuse_other_types;
}

awaitable<fetch_reply> web_scraper::fetch(web_url url, progress_sender& progress)
{
    fetch_request request = model_;
    request.url = std::move(url);
    request.progress = [&progress](std::string text) { progress.step(std::move(text)); };
    auto ticket = std::make_shared<egress_ticket>("web_scrape", policy_, egress_limits());
    auto page = co_await client_.get(std::move(ticket), std::move(request));
    co_return page;
}

awaitable<json::object> web_scraper::read(std::string key, progress_sender& progress, fetch_reply page,
                                          scrape_request asked, std::chrono::milliseconds left)
{
    const page_kind kind = kind_of(page);
    if (kind == page_kind::other) throw fetch_error("type", other_type_sentence(page.type));
    json::object made;
    if (kind == page_kind::pdf) {
        progress.step("reading the PDF");
        made = co_await reader_.read_pdf(std::move(key), std::move(page.body), left);
        if (!made.contains("error")) made = from_text(std::string(made.at("content").as_string()), asked);
        co_return made;
    }
    auto convert = [bytes = std::move(page.body), label = page.charset] { return decode_text(bytes, label); };
    auto decoded = co_await pool_.run(std::move(convert));
    if (kind == page_kind::text) {
        made = from_text(std::move(decoded.text), asked);
    } else {
        progress.step("parsing");
        page_wish wish;
        wish.kind = kind == page_kind::xml ? "xml" : "html";
        wish.base = page.url.text();
        wish.format = asked.format;
        wish.selector = asked.selector;
        wish.max_length = asked.max_length;
        made = co_await reader_.read(std::move(key), std::move(decoded.text), std::move(wish), left);
    }
    if (!decoded.note.empty()) add_hint(made, decoded.note);
    co_return made;
}

awaitable<json::object> web_scraper::attempt(std::string key, request_io& io, progress_sender& progress,
                                             scrape_request asked)
{
    const auto begun = clock::now();
    const web_url url = web_url::parse(asked.url);
    auto place = co_await fetches_.enter(key, &io);
    if (!place)
        throw fetch_error("busy", "The server is busy: too many pages are being fetched. Try again in a few seconds.");
    auto page = co_await fetch(url, progress);
    const auto left = model_.timeout - std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - begun);
    fetch_reply head = page;
    head.body.clear();
    auto made = co_await read(std::move(key), progress, std::move(page), asked, left);
    if (const auto* problem = made.if_contains("error"))
        co_return failed_scrape(head.url.text(), std::string(problem->as_string()), "unreadable");
    describe(made, head);
    add_hints(made, asked);
    co_return made;
}

awaitable<json::object> web_scraper::scrape(caller who, request_io& io, scrape_request asked)
{
    progress_sender progress(io);
    const std::string url = asked.url;
    json::object made;
    try {
        auto work = attempt(admission_key(who), io, progress, std::move(asked));
        made = co_await with_progress(progress, std::move(work));
    } catch (const fetch_error& problem) {
        made = failed_scrape(url, problem.what(), problem.reason);
    } catch (const bad_url& problem) {
        made = failed_scrape(url, problem.what(), "bad_url");
    }
    co_return made;
}

}  // namespace cmcp
