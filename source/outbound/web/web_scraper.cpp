#include "web/web_scraper.hpp"

#include "charset/decode_text.hpp"
#include "charset/guess_charset.hpp"
#include "config/settings.hpp"
#include "runs/progress_sender.hpp"
#include "runs/runner.hpp"
#include "text/utf8_text.hpp"
#include "web/code_network.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {
namespace {

using clock = std::chrono::steady_clock;

constexpr const char* accepted =
    "text/html,application/xhtml+xml,application/xml;q=0.9,text/*;q=0.8,application/json;q=0.8,"
    "application/pdf;q=0.7,*/*;q=0.1";

admission_limits fetches_at_once()
{
    constexpr std::size_t pages = 64;
    return {.at_once = pages, .per_caller = pages, .waiting = 1024, .what = "page"};
}

/// How a page is read.
enum class page_kind { html, xml, text, pdf, other };

constexpr std::string_view text_types[] = {
    "application/json",     "application/ld+json", "application/javascript", "application/ecmascript",
    "application/x-ndjson", "application/yaml",    "application/x-yaml",     "application/toml",
    "application/sql",      "application/x-sh",    "application/graphql",    "application/x-javascript"};

page_kind kind_of_type(std::string_view type)
{
    if (type == "text/html" || type == "application/xhtml+xml") return page_kind::html;
    if (type == "application/xml" || type == "text/xml" || type.ends_with("+xml")) return page_kind::xml;
    if (type == "application/pdf" || type == "application/x-pdf") return page_kind::pdf;
    const bool listed = std::find(std::begin(text_types), std::end(text_types), type) != std::end(text_types);
    if (listed || type.starts_with("text/") || type.ends_with("+json") || type.ends_with("+yaml"))
        return page_kind::text;
    return page_kind::other;
}

page_kind kind_of_bytes(std::string_view bytes)
{
    if (bytes.starts_with("%PDF-")) return page_kind::pdf;
    const auto start = bytes.substr(0, 1024);
    const bool is_wide =
        start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff") || !utf16_without_mark(start).empty();
    if (start.find('\0') != std::string_view::npos && !is_wide) return page_kind::other;
    const auto first = start.find_first_not_of(" \t\r\n\f\xef\xbb\xbf");
    if (first == std::string_view::npos || start[first] != '<') return page_kind::text;
    return start.substr(first).starts_with("<?xml") ? page_kind::xml : page_kind::html;
}

bool says_nothing(std::string_view type)
{
    return type.empty() || type == "application/octet-stream" || type == "unknown/unknown";
}

// By its media type, or by its first bytes when the server names none.
page_kind kind_of(const fetch_reply& page)
{
    return says_nothing(page.type) ? kind_of_bytes(page.body) : kind_of_type(page.type);
}

std::string other_type_sentence(std::string_view type)
{
    return "The address leads to " +
           (type.empty() ? std::string("data of no known type") : "data of type " + std::string(type.substr(0, 80))) +
           ", which cannot be read as text; HTML, XML, plain text, JSON and PDF can.";
}

// Before the body is read.
void refuse_other_types(const fetch_head& head)
{
    if (says_nothing(head.type) || head.status >= 400) return;
    if (kind_of_type(head.type) == page_kind::other) throw fetch_error("type", other_type_sentence(head.type));
}

json::object failed_scrape(const std::string& url, std::string sentence, std::string reason)
{
    return {{"content", ""},
            {"url", url},
            {"title", ""},
            {"success", false},
            {"error", std::move(sentence)},
            {"reason", std::move(reason)}};
}

void add_hint(json::object& to, const std::string& hint)
{
    if (hint.empty()) return;
    json::value& all = to["hint"];
    const std::string before = all.is_string() ? std::string(all.as_string()) + " " : "";
    all = before + hint;
}

void describe(json::object& answer, const fetch_reply& page)
{
    answer["url"] = page.url.text();
    answer["status"] = page.status;
    answer["content_type"] = page.type;
    answer["success"] = true;
    answer["error"] = nullptr;
    if (!answer.contains("title")) answer["title"] = "";
    if (page.status < 400) return;
    answer["success"] = false;
    answer["error"] = page.url.origin() + " answered " + std::to_string(page.status) + " " + page.status_text +
                      "; what it sent with that is in content.";
    answer["reason"] = "http_status";
}

json::object from_text(std::string text, const scrape_request& request)
{
    json::object answer;
    const auto shown = utf8_prefix(text, request.max_length);
    answer["truncated"] = shown.size() < text.size();
    answer["length"] = text.size();
    answer["content"] = json::string_view(shown.data(), shown.size());
    if (request.selector) add_hint(answer, "selector was not used: the page is no HTML.");
    return answer;
}

// The first addresses, as a reader may ask for them.
std::string few_of(const json::array& addresses)
{
    constexpr std::size_t most = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(addresses.size(), most); ++i)
        text += (text.empty() ? "" : ", ") + std::string(addresses[i].as_string());
    return text + (addresses.size() > most ? ", …" : "");
}

void add_hints(json::object& answer, const scrape_request& request)
{
    if (const auto* scripted = answer.if_contains("needs_scripts"); scripted != nullptr) {
        add_hint(answer, *scripted == true
                             ? "This page is built by its scripts, which web_scrape does not run, so that little or "
                               "nothing of it is here: web_browse shows it."
                             : "The page holds no text that is visible without scripts; format html shows what it is "
                               "made of, web_browse what it looks like.");
        answer.erase("needs_scripts");
    }
    if (const auto* frames = answer.if_contains("frames"); frames != nullptr && frames->is_array()) {
        const auto& all = frames->get_array();
        add_hint(answer, "The page has " + std::to_string(all.size()) +
                             (all.size() == 1 ? " frame, whose" : " frames, whose") + " content is not here (" +
                             few_of(all) + "): scrape its address, or web_browse shows it.");
        answer.erase("frames");
    }
    const auto* matches = answer.if_contains("matches");
    if (matches != nullptr && *matches == 0)
        add_hint(answer, "The selector matched nothing that is visible on this page; try a simpler one, or none.");
    const auto* cut = answer.if_contains("truncated");
    if (cut != nullptr && cut->is_bool() && cut->get_bool())
        add_hint(answer, "content was cut after " + std::to_string(request.max_length) +
                             " characters: choose a part of the page with selector, or give a larger max_length.");
}

}  // namespace

web_scraper::web_scraper(const settings& config, http_client& client, std::shared_ptr<const egress_policy> policy,
                         web_page_reader& reader, blocking_pool& pool)
    : client_(client), policy_(std::move(policy)), pool_(pool), fetches_(fetches_at_once()), reader_(reader)
{
    model_.accept = accepted;
    model_.max_bytes = config.web_max_size;
    model_.timeout = config.web_timeout_default;
    model_.check = refuse_other_types;
    patience_of_user_ = config.sandbox_network_ask;
    longest_time_ = std::max(config.web_browser_timeout_max, config.web_timeout_default);
}

awaitable<fetch_reply> web_scraper::fetch(caller who, std::string call, fetch_request request,
                                          progress_sender& progress)
{
    request.progress = [&progress](std::string text) { progress.step(std::move(text)); };
    auto ticket = std::make_shared<egress_ticket>("web_scrape", policy_, egress_limits());
    ticket->belong_to(who.principal, std::move(call));
    keep_to_network_of(who, *ticket);
    if (ticket->judge(request.url.who, request.url.port).asks) request.timeout += patience_of_user_;
    auto page = co_await client_.get(std::move(ticket), std::move(request));
    co_return page;
}

awaitable<json::object> web_scraper::read(caller who, progress_sender& progress, fetch_reply page,
                                          scrape_request request, std::chrono::milliseconds left)
{
    const page_kind kind = kind_of(page);
    std::string key = admission_key(who);
    if (kind == page_kind::other) throw fetch_error("type", other_type_sentence(page.type));
    json::object answer;
    if (kind == page_kind::pdf) {
        progress.step("reading the PDF");
        answer = co_await reader_.read_pdf(std::move(key), std::move(page.body), left);
        if (!answer.contains("error")) answer = from_text(std::string(answer.at("content").as_string()), request);
        co_return answer;
    }
    const auto& host = page.url.who.name;
    auto convert = [bytes = std::move(page.body), label = page.charset, domain = host.substr(host.rfind('.') + 1)] {
        auto decoded = decode_text(bytes, label, domain);
        const auto count = std::count(decoded.text.begin(), decoded.text.end(), '\0');
        return std::pair(std::move(decoded), count);
    };
    auto [decoded, zeros] = co_await pool_.run(who.principal, std::move(convert));
    auto& [text, charset, note] = decoded;
    if (zeros > 0 && kind != page_kind::text)
        note += (note.empty() ? "" : " ") + std::to_string(zeros) + " NUL characters are shown as U+FFFD.";
    if (kind == page_kind::text) {
        answer = from_text(std::move(text), request);
    } else {
        progress.step("parsing");
        page_wish wish;
        wish.kind = kind == page_kind::xml ? "xml" : "html";
        wish.base = page.url.text();
        wish.format = request.format;
        wish.selector = request.selector;
        wish.max_length = request.max_length;
        answer = co_await reader_.read(std::move(key), std::move(text), std::move(wish), left);
    }
    if (!note.empty()) add_hint(answer, note);
    co_return answer;
}

awaitable<json::object> web_scraper::attempt(caller who, request_io& io, progress_sender& progress,
                                             scrape_request request)
{
    std::string key = admission_key(who);
    auto slot = co_await fetches_.enter(std::move(key), &io);
    if (!slot)
        throw fetch_error("busy", "The server is busy: too many pages are being fetched. Try again in a few seconds.");
    auto answer = co_await read_following(std::move(who), io.request(), progress, std::move(request));
    co_return answer;
}

// A page may lead on by itself (<meta http-equiv=refresh>), as a redirect does.
awaitable<json::object> web_scraper::read_following(caller who, std::string call, progress_sender& progress,
                                                    scrape_request request)
{
    const auto begun = clock::now();
    fetch_request wanted = model_;
    wanted.url = web_url::parse(request.url);
    wanted.timeout = chosen_timeout(request.timeout, model_.timeout, longest_time_);
    if (request.timeout) wanted.timeout_setting = "timeout";
    const auto whole = wanted.timeout;
    const auto left = [&] {
        return whole - std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - begun);
    };
    const auto least = std::chrono::milliseconds(1);
    for (;;) {
        fetch_request one = wanted;
        auto page = co_await fetch(who, call, std::move(one), progress);
        auto body = std::move(page.body);
        fetch_reply head = page;
        page.body = std::move(body);
        const auto rest = left();
        auto answer = co_await read(who, progress, std::move(page), request, rest);
        if (const auto* problem = answer.if_contains("error"))
            co_return failed_scrape(head.url.text(), std::string(problem->as_string()), "unreadable");
        std::string next;
        if (const auto* refresh = answer.if_contains("refresh")) next = std::string(refresh->as_string());
        answer.erase("refresh");
        const bool may_follow = head.status < 400 && head.redirects < wanted.max_redirects && left() > least;
        if (!next.empty() && may_follow) {
            wanted.url = head.url.follow(next);
            if (wanted.url.target != head.url.target || wanted.url.origin() != head.url.origin()) {
                progress.step("following to " + wanted.url.origin());
                wanted.max_redirects -= head.redirects + 1;
                wanted.cookies = std::move(head.cookies);
                wanted.timeout = left();
                continue;
            }
        }
        describe(answer, head);
        add_hints(answer, request);
        if (!next.empty() && !may_follow)
            add_hint(answer, "The page leads on to " + next + ", which was not followed.");
        co_return answer;
    }
}

awaitable<json::object> web_scraper::scrape(caller who, request_io& io, scrape_request request)
{
    progress_sender progress(io);
    const std::string url = request.url;
    try {
        auto work = attempt(std::move(who), io, progress, std::move(request));
        auto answer = co_await with_progress(progress, std::move(work));
        co_return answer;
    } catch (const fetch_error& problem) {
        co_return failed_scrape(url, problem.what(), problem.reason);
    } catch (const bad_url& problem) {
        co_return failed_scrape(url, problem.what(), "bad_url");
    }
}

}  // namespace cmcp
