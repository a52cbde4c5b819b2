#include "web/search_provider.hpp"

#include "config/config_error.hpp"
#include "text/utf8_cleaner.hpp"

#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

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

web_url with_query(web_url base, const std::string& query)
{
    base.target += (base.target.find('?') == std::string::npos ? "?" : "&") + query;
    return base;
}

json::object read_json(const fetch_reply& reply, const std::string& name)
{
    json::error_code problem;
    json::value read = json::parse(reply.body, problem);
    if (problem || !read.is_object())
        throw fetch_error(
            "provider", name + " answered " + std::to_string(reply.status) + " " + reply.status_text + " and no JSON.");
    return std::move(read.as_object());
}

std::string text_of(const json::object& from, std::string_view name)
{
    const auto* found = from.if_contains(name);
    return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

search_results results_in(const json::value* list, std::string_view snippet)
{
    search_results found;
    if (list == nullptr || !list->is_array()) return found;
    for (const auto& one : list->as_array())
        if (const auto* item = one.if_object())
            found.push_back({text_of(*item, "title"), text_of(*item, "url"), text_of(*item, snippet)});
    return found;
}

class searxng final : public search_provider {
public:
    explicit searxng(const settings& chosen) : base_(parse_setting(chosen.web_search_url))
    {
        if (!base_.target.ends_with('/')) base_.target += '/';
        if (!base_.target.ends_with("/search/")) base_.target += "search";
    }
    std::string name() const override { return "searxng"; }
    web_url address() const override { return base_; }
    fetch_request request(const std::string& query, std::size_t) const override
    {
        fetch_request made;
        made.url = with_query(base_, "format=json&q=" + escaped(query));
        made.accept = "application/json";
        return made;
    }
    awaitable<search_results> read(fetch_reply reply, page_parser) const override
    {
        if (reply.status == 403)
            throw fetch_error(
                "provider", "SearXNG refuses to answer in JSON (403): add json to search.formats in its settings.yml.");
        if (reply.status == 429)
            throw fetch_error("provider", "SearXNG says that it is asked too often (429); try again later.");
        const auto answer = read_json(reply, "SearXNG at " + base_.origin());
        if (reply.status >= 400)
            throw fetch_error(
                "provider", "SearXNG answered " + std::to_string(reply.status) + ": " + text_of(answer, "error") + ".");
        auto found = results_in(answer.if_contains("results"), "content");
        if (found.empty()) refuse_silent_engines(answer);
        co_return found;
    }

private:
    // No results because nobody could be asked is another thing than no results.
    static void refuse_silent_engines(const json::object& answer)
    {
        const auto* silent = answer.if_contains("unresponsive_engines");
        if (silent == nullptr || !silent->is_array() || silent->as_array().empty()) return;
        throw fetch_error("provider", "SearXNG found nothing because its engines did not answer: " +
                                          json::serialize(*silent).substr(0, 300) + ".");
    }
    web_url base_;
};

class brave final : public search_provider {
public:
    explicit brave(const settings& chosen)
        : base_(parse_setting(chosen.web_search_url.empty() ? "https://api.search.brave.com/res/v1/web/search"
                                                            : chosen.web_search_url)),
          key_(chosen.web_search_key)
    {
    }
    std::string name() const override { return "brave"; }
    web_url address() const override { return base_; }
    fetch_request request(const std::string& query, std::size_t max_results) const override
    {
        fetch_request made;
        made.url =
            with_query(base_, "text_decorations=false&count=" + std::to_string(std::min<std::size_t>(20, max_results)) +
                                  "&q=" + escaped(query));
        made.accept = "application/json";
        made.headers = {{"X-Subscription-Token", key_}};
        return made;
    }
    awaitable<search_results> read(fetch_reply reply, page_parser) const override
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
        const auto* web = answer.if_contains("web");
        co_return results_in(web != nullptr && web->is_object() ? web->as_object().if_contains("results") : nullptr,
                             "description");
    }

private:
    static std::string complaint(const json::object& answer)
    {
        const auto* error = answer.if_contains("error");
        if (error == nullptr || !error->is_object()) return "no reason given";
        const std::string detail = text_of(error->as_object(), "detail");
        return detail.empty() ? text_of(error->as_object(), "code") : detail;
    }
    web_url base_;
    std::string key_;
};

class duckduckgo final : public search_provider {
public:
    explicit duckduckgo(const settings& chosen)
        : base_(parse_setting(chosen.web_search_url.empty() ? "https://html.duckduckgo.com/html/"
                                                            : chosen.web_search_url))
    {
    }
    std::string name() const override { return "duckduckgo"; }
    web_url address() const override { return base_; }
    fetch_request request(const std::string& query, std::size_t) const override
    {
        fetch_request made;
        made.url = with_query(base_, "q=" + escaped(query));
        made.accept = "text/html";
        return made;
    }
    awaitable<search_results> read(fetch_reply reply, page_parser parse) const override
    {
        if (reply.status >= 400)
            throw fetch_error("provider",
                              "DuckDuckGo answered " + std::to_string(reply.status) + " " + reply.status_text + ".");
        page_wish wish;
        wish.kind = "results";
        wish.base = reply.url.text();
        const bool uneasy = reply.status == 202;
        auto found = co_await parse(std::move(reply.body), std::move(wish));
        if (const auto* problem = found.if_contains("error"))
            throw fetch_error("provider", std::string(problem->as_string()));
        auto results = results_in(found.if_contains("results"), "snippet");
        const auto* challenge = found.if_contains("challenge");
        if (results.empty() && (uneasy || (challenge != nullptr && *challenge == true)))
            throw fetch_error("provider",
                              "DuckDuckGo asks for a proof that a person searches; wait a while, or set "
                              "WEB_SEARCH_PROVIDER to searxng or brave.");
        co_return results;
    }

private:
    web_url base_;
};

// Tags and entities that some services leave in their texts.
std::string plain(const std::string& text)
{
    static const std::pair<std::string_view, std::string_view> entities[] = {
        {"&amp;", "&"},  {"&lt;", "<"},  {"&gt;", ">"},  {"&quot;", "\""},
        {"&#x27;", "'"}, {"&#39;", "'"}, {"&nbsp;", " "}};
    std::string made;
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
        bool replaced = false;
        for (const auto& [entity, character] : entities) {
            if (replaced || !rest.starts_with(entity)) continue;
            made += character;
            i += entity.size();
            replaced = true;
        }
        if (!replaced) made += text[i++];
    }
    return made;
}

std::string tidy(const std::string& text, std::size_t longest)
{
    std::string made;
    for (char c : plain(text)) {
        const bool blank = static_cast<unsigned char>(c) <= ' ';
        if (!blank) made += c;
        if (blank && !made.empty() && made.back() != ' ') made += ' ';
    }
    if (made.ends_with(' ')) made.pop_back();
    const auto shown = utf8_prefix(made, longest);
    return std::string(shown) + (shown.size() < made.size() ? "…" : "");
}

// Two addresses that differ only in what does not matter name one page.
std::string identity(const web_url& url)
{
    std::string path = url.target;
    while (path.ends_with('/')) path.pop_back();
    std::string name = url.authority();
    if (name.starts_with("www.")) name.erase(0, 4);
    return name + path;
}

}  // namespace

std::unique_ptr<search_provider> make_search_provider(const settings& chosen)
{
    const std::string& name = chosen.web_search_provider;
    if (name == "searxng") {
        if (chosen.web_search_url.empty())
            throw config_error(
                "WEB_SEARCH_PROVIDER is searxng, so WEB_SEARCH_URL must be set to its address, for example "
                "http://127.0.0.1:8888/");
        return std::make_unique<searxng>(chosen);
    }
    if (name == "brave") {
        if (chosen.web_search_key.empty())
            throw config_error("WEB_SEARCH_PROVIDER is brave, so WEB_SEARCH_KEY must be set to a key of its API");
        return std::make_unique<brave>(chosen);
    }
    if (name == "duckduckgo") return std::make_unique<duckduckgo>(chosen);
    return nullptr;
}

search_results tidied(search_results found, std::size_t most)
{
    search_results made;
    std::set<std::string> seen;
    for (auto& one : found) {
        if (made.size() >= most) break;
        try {
            const auto url = web_url::parse(one.url);
            if (!seen.insert(identity(url)).second) continue;
            made.push_back({tidy(one.title, longest_title), url.text(), tidy(one.snippet, longest_snippet)});
        } catch (const bad_url&) {
            continue;  // nothing that could be fetched
        }
    }
    return made;
}

}  // namespace cmcp
