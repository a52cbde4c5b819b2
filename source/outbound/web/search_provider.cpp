#include "web/search_provider.hpp"

#include "async/sized_work.hpp"
#include "config/config_error.hpp"
#include "config/web_settings.hpp"
#include "jsonrpc/json_reader.hpp"
#include "jsonrpc/read_object.hpp"
#include "text/utf8_text.hpp"

#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t longest_title = 300;
constexpr std::size_t longest_snippet = 1000;

std::string escaped(const std::string& text) { return boost::urls::encode(text, boost::urls::unreserved_chars); }

web_url parse_setting(const std::string& text)
{
    try {
        return web_url::parse(text);
    } catch (const bad_url& problem) {
        throw config_error("WEB_SEARCH_URL: \"" + text + "\" cannot be used: " + problem.what());
    }
}

web_url setting_or(const std::string& setting, const char* otherwise)
{
    return parse_setting(setting.empty() ? otherwise : setting);
}

fetch_request query_to(web_url address, const std::string& query, const char* accept)
{
    address.target += (address.target.find('?') == std::string::npos ? "?" : "&") + query;
    fetch_request request;
    request.url = std::move(address);
    request.accept = accept;
    return request;
}

json::object read_json(const fetch_reply& reply, const std::string& name)
{
    constexpr std::size_t most_values = 50'000;
    auto read = jsonrpc::read_bounded(reply.body, {.depth = 32, .values = most_values});
    if (!read || !read->is_object())
        throw fetch_error(
            "provider", name + " answered " + std::to_string(reply.status) + " " + reply.status_text + " and no JSON.");
    return std::move(read->as_object());
}

search_results results_in(const json::value* list, std::string_view snippet)
{
    search_results results;
    if (list == nullptr || !list->is_array()) return results;
    for (const auto& one : list->as_array())
        if (const auto* item = one.if_object())
            results.push_back({text_of(*item, "title"), text_of(*item, "url"), text_of(*item, snippet)});
    return results;
}

web_url searxng_address(const std::string& text)
{
    web_url url = parse_setting(text);
    if (!url.target.ends_with('/')) url.target += '/';
    if (!url.target.ends_with("/search/")) url.target += "search";
    return url;
}

class searxng final : public search_provider {
public:
    explicit searxng(const web_settings& config) : search_provider("searxng", searxng_address(config.web_search_url)) {}

    fetch_request request(const std::string& query, std::size_t) const override
    {
        return query_to(address(), "format=json&q=" + escaped(query), "application/json");
    }
    awaitable<search_results> read(fetch_reply reply, page_parser, reading_context by) const override
    {
        const auto size = reply.body.size();
        auto work = [reply = std::move(reply), from = address().origin()] { return results_of(reply, from); };
        auto results = co_await by_size(by.pool, std::move(by.principal), size, std::move(work));
        co_return results;
    }

private:
    static search_results results_of(const fetch_reply& reply, const std::string& from)
    {
        if (reply.status == 403)
            throw fetch_error(
                "provider", "SearXNG refuses to answer in JSON (403): add json to search.formats in its settings.yml.");
        if (reply.status == 429)
            throw fetch_error("provider", "SearXNG says that it is asked too often (429); try again later.");
        const auto answer = read_json(reply, "SearXNG at " + from);
        if (reply.status >= 400)
            throw fetch_error(
                "provider", "SearXNG answered " + std::to_string(reply.status) + ": " + text_of(answer, "error") + ".");
        auto results = results_in(answer.if_contains("results"), "content");
        if (results.empty()) refuse_silent_engines(answer);
        return results;
    }

    // No results because no engine answered differ from no results.
    static void refuse_silent_engines(const json::object& answer)
    {
        const auto* silent = answer.if_contains("unresponsive_engines");
        if (silent == nullptr || !silent->is_array() || silent->as_array().empty()) return;
        throw fetch_error("provider", "SearXNG found nothing because its engines did not answer: " +
                                          json::serialize(*silent).substr(0, 300) + ".");
    }
};

class brave final : public search_provider {
public:
    explicit brave(const web_settings& config)
        : search_provider("brave", setting_or(config.web_search_url, "https://api.search.brave.com/res/v1/web/search")),
          key_(config.web_search_key)
    {
    }

    fetch_request request(const std::string& query, std::size_t max_results) const override
    {
        const std::string count = std::to_string(std::min<std::size_t>(20, max_results));
        auto with_key =
            query_to(address(), "text_decorations=false&count=" + count + "&q=" + escaped(query), "application/json");
        with_key.headers = {{"X-Subscription-Token", key_}};
        return with_key;
    }
    awaitable<search_results> read(fetch_reply reply, page_parser, reading_context by) const override
    {
        const auto size = reply.body.size();
        auto work = [reply = std::move(reply)] { return results_of(reply); };
        auto results = co_await by_size(by.pool, std::move(by.principal), size, std::move(work));
        co_return results;
    }

private:
    static search_results results_of(const fetch_reply& reply)
    {
        if (reply.status == 401 || reply.status == 403)
            throw fetch_error("provider", "Brave does not accept the key (" + std::to_string(reply.status) +
                                              "): correct WEB_SEARCH_KEY.");
        if (reply.status == 429)
            throw fetch_error("provider", "Brave says that the quota of the key is used up (429); try again later.");
        const auto answer = read_json(reply, "Brave");
        if (reply.status >= 400)
            throw fetch_error("provider",
                              "Brave answered " + std::to_string(reply.status) + ": " + complaint(answer) + ".");
        return results_in(object_of(answer, "web").if_contains("results"), "description");
    }

    static std::string complaint(const json::object& answer)
    {
        const json::object& error = object_of(answer, "error");
        if (error.empty()) return "no reason given";
        const std::string detail = text_of(error, "detail");
        return detail.empty() ? text_of(error, "code") : detail;
    }

    std::string key_;
};

class duckduckgo final : public search_provider {
public:
    explicit duckduckgo(const web_settings& config)
        : search_provider("duckduckgo", setting_or(config.web_search_url, "https://html.duckduckgo.com/html/"))
    {
    }

    fetch_request request(const std::string& query, std::size_t) const override
    {
        return query_to(address(), "q=" + escaped(query), "text/html");
    }
    awaitable<search_results> read(fetch_reply reply, page_parser parse, reading_context) const override
    {
        if (reply.status >= 400)
            throw fetch_error("provider",
                              "DuckDuckGo answered " + std::to_string(reply.status) + " " + reply.status_text + ".");
        page_wish wish;
        wish.kind = "results";
        wish.base = reply.url.text();
        const bool uneasy = reply.status == 202;
        auto page = co_await parse(std::move(reply.body), std::move(wish));
        if (const auto* problem = page.if_contains("error"))
            throw fetch_error("provider", std::string(problem->as_string()));
        auto results = results_in(page.if_contains("results"), "snippet");
        const auto* challenge = page.if_contains("challenge");
        if (results.empty() && (uneasy || (challenge != nullptr && *challenge == true)))
            throw fetch_error("provider",
                              "DuckDuckGo asks for a proof that a person searches; wait a while, or set "
                              "WEB_SEARCH_PROVIDER to searxng or brave.");
        co_return results;
    }
};

// Tags and entities that some services leave in their texts.
std::string plain(const std::string& text)
{
    static const std::pair<std::string_view, std::string_view> entities[] = {
        {"&amp;", "&"},  {"&lt;", "<"},  {"&gt;", ">"},  {"&quot;", "\""},
        {"&#x27;", "'"}, {"&#39;", "'"}, {"&nbsp;", " "}};
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        const std::string_view rest = std::string_view(text).substr(i);
        const auto tag_end =
            rest.size() > 1 && rest[0] == '<' && (std::isalpha(static_cast<unsigned char>(rest[1])) || rest[1] == '/')
                ? rest.substr(0, 200).find('>')
                : std::string_view::npos;
        if (tag_end != std::string_view::npos) {
            i += tag_end + 1;
            continue;
        }
        const auto entity = std::find_if(std::begin(entities), std::end(entities),
                                         [&](const auto& each) { return rest.starts_with(each.first); });
        const bool is_entity = entity != std::end(entities);
        result += is_entity ? entity->second : rest.substr(0, 1);
        i += is_entity ? entity->first.size() : 1;
    }
    return result;
}

std::string tidy(const std::string& text, std::size_t longest)
{
    std::string result;
    for (char c : plain(text)) {
        const bool blank = static_cast<unsigned char>(c) <= ' ';
        if (!blank) result += c;
        if (blank && !result.empty() && result.back() != ' ') result += ' ';
    }
    if (result.ends_with(' ')) result.pop_back();
    const auto shown = utf8_prefix(result, longest);
    return std::string(shown) + (shown.size() < result.size() ? "…" : "");
}

// Addresses that differ in "www." or a closing slash name one page.
std::string identity(const web_url& url)
{
    std::string path = url.target;
    while (path.ends_with('/')) path.pop_back();
    std::string name = url.authority();
    if (name.starts_with("www.")) name.erase(0, 4);
    return name + path;
}

}  // namespace

std::unique_ptr<search_provider> make_search_provider(const web_settings& config)
{
    const std::string& name = config.web_search_provider;
    if (name == "searxng") {
        if (config.web_search_url.empty())
            throw config_error(
                "WEB_SEARCH_PROVIDER is searxng, so WEB_SEARCH_URL must be set to its address, for example "
                "http://127.0.0.1:8888/");
        return std::make_unique<searxng>(config);
    }
    if (name == "brave") {
        if (config.web_search_key.empty())
            throw config_error("WEB_SEARCH_PROVIDER is brave, so WEB_SEARCH_KEY must be set to a key of its API");
        return std::make_unique<brave>(config);
    }
    if (name == "duckduckgo") return std::make_unique<duckduckgo>(config);
    return nullptr;
}

search_results tidied(search_results all, std::size_t most)
{
    search_results tidy_results;
    std::set<std::string> seen;
    for (auto& one : all) {
        if (tidy_results.size() >= most) break;
        try {
            const auto url = web_url::parse(one.url);
            if (!seen.insert(identity(url)).second) continue;
            tidy_results.push_back({tidy(one.title, longest_title), url.text(), tidy(one.snippet, longest_snippet)});
        } catch (const bad_url&) {
            continue;  // no address that could be fetched
        }
    }
    return tidy_results;
}

}  // namespace cmcp
