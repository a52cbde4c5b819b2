#include "web/web_searcher.hpp"

#include "async/sized_work.hpp"
#include "charset/decode_text.hpp"
#include "config/web_settings.hpp"
#include "runs/progress_sender.hpp"
#include "web/code_network.hpp"

#include <utility>

namespace cmcp {
namespace {

json::object failed_search(const std::string& query, std::string sentence)
{
    return {{"results", json::array()}, {"query", query}, {"success", false}, {"error", std::move(sentence)}};
}

std::shared_ptr<const egress_policy> only(const search_provider* provider)
{
    if (provider == nullptr) return nullptr;
    const web_url to = provider->address();
    const std::vector<egress_entry> allowed{egress_entry::parse(to.who.with_port(to.port))};
    return std::make_shared<egress_policy>(allowed, allowed);
}

std::size_t total_size(const search_results& results)
{
    std::size_t size = 0;
    for (const auto& one : results) size += sizeof one + one.title.size() + one.url.size() + one.snippet.size();
    return size;
}

json::array listed(const search_results& results)
{
    json::array list;
    for (const auto& one : results)
        list.push_back(json::object{{"title", one.title}, {"url", one.url}, {"snippet", one.snippet}});
    return list;
}

}  // namespace

web_searcher::web_searcher(const web_settings& config, http_client& client, web_page_reader& reader,
                           blocking_pool& pool)
    : client_(client),
      provider_(make_search_provider(config)),
      policy_(only(provider_.get())),
      reader_(reader),
      pool_(pool),
      max_bytes_(config.web_max_size),
      timeout_(config.web_timeout_default)
{
}

awaitable<search_results> web_searcher::ask(caller who, std::string call, progress_sender& progress, std::string query,
                                            std::size_t max_results)
{
    fetch_request request = provider_->request(query, max_results);
    request.max_bytes = max_bytes_;
    request.timeout = timeout_;
    request.max_redirects = 3;
    request.progress = [&progress](std::string text) { progress.step(std::move(text)); };
    auto ticket = std::make_shared<egress_ticket>("web_search", policy_, egress_limits());
    ticket->belong_to(who.principal, std::move(call));
    keep_to_network_of(who, *ticket);
    auto reply = co_await client_.get(std::move(ticket), std::move(request));
    progress.step("reading the results");
    const auto size = reply.body.size();
    auto decode = [bytes = std::move(reply.body), label = reply.charset] { return decode_text(bytes, label).text; };
    reply.body = co_await by_size(pool_, who.principal, size, std::move(decode));
    const page_parser parse = [this, key = "search " + who.principal](std::string page, page_wish wish) {
        return reader_.read(key, std::move(page), std::move(wish), timeout_);
    };
    reading_context by{pool_, who.principal};
    auto results = co_await provider_->read(std::move(reply), parse, std::move(by));
    const auto length = total_size(results);
    auto tidy = [all = std::move(results), max_results]() mutable { return tidied(std::move(all), max_results); };
    auto tidy_results = co_await by_size(pool_, who.principal, length, std::move(tidy));
    co_return tidy_results;
}

std::string web_searcher::obstacle() const
{
    if (provider_) return {};
    return "No search provider is configured on this server: set WEB_SEARCH_PROVIDER to searxng (with WEB_SEARCH_URL), "
           "brave (with WEB_SEARCH_KEY) or duckduckgo, and restart the server.";
}

awaitable<json::object> web_searcher::search(caller who, request_io& io, std::string query, std::size_t max_results)
{
    if (!provider_) co_return failed_search(query, obstacle());
    progress_sender progress(io);
    std::string problem;
    try {
        auto work = ask(who, io.request(), progress, query, max_results);
        auto results = co_await with_progress(progress, std::move(work));
        json::object answer{
            {"results", listed(results)}, {"query", query}, {"provider", provider_->name()}, {"success", true}};
        co_return answer;
    } catch (const fetch_error& failure) {
        problem = failure.what();
    }
    co_return failed_search(query, provider_->name() + " could not be asked: " + problem);
}

}  // namespace cmcp
