#include "web/web_searcher.hpp"

#include "runs/progress_sender.hpp"
#include "web/web_content.hpp"

#include <utility>

namespace cmcp {
namespace {

json::object failed_search(const std::string& query, std::string sentence)
{
    json::object made;
    made["results"] = json::array();
    made["query"] = query;
    made["success"] = false;
    made["error"] = std::move(sentence);
    return made;
}

std::shared_ptr<const egress_policy> only(const search_provider* provider)
{
    if (provider == nullptr) return nullptr;
    const web_url to = provider->address();
    const std::vector<egress_entry> place{egress_entry::parse(to.who.text() + ":" + std::to_string(to.port))};
    return std::make_shared<egress_policy>(place, place);
}

json::array listed(const search_results& found)
{
    json::array made;
    for (const auto& one : found) {
        json::object item;
        item["title"] = one.title;
        item["url"] = one.url;
        item["snippet"] = one.snippet;
        made.push_back(std::move(item));
    }
    return made;
}

}  // namespace

web_searcher::web_searcher(const settings& chosen, http_client& client, sandbox::backend& backend, run_admission& runs)
    : client_(client),
      provider_(make_search_provider(chosen)),
      policy_(only(provider_.get())),
      reader_(chosen, backend, runs),
      max_bytes_(chosen.web_max_size),
      timeout_(chosen.web_timeout_default)
{
}

awaitable<search_results> web_searcher::ask(std::string key, progress_sender& progress, std::string query,
                                            std::size_t max_results)
{
    fetch_request request = provider_->request(query, max_results);
    request.max_bytes = max_bytes_;
    request.timeout = timeout_;
    request.max_redirects = 3;
    request.progress = [&progress](std::string text) { progress.step(std::move(text)); };
    auto ticket = std::make_shared<egress_ticket>("web_search", policy_, egress_limits());
    auto reply = co_await client_.get(std::move(ticket), std::move(request));
    progress.step("reading the results");
    reply.body = decode_text(reply.body, reply.charset).text;
    const page_parser parse = [this, key = std::move(key)](std::string page, page_wish wish) {
        return reader_.read(key, std::move(page), std::move(wish), timeout_);
    };
    auto found = co_await provider_->read(std::move(reply), parse);
    co_return tidied(std::move(found), max_results);
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
    json::object made;
    std::string problem;
    try {
        auto work = ask("search " + who.principal, progress, query, max_results);
        auto found = co_await with_progress(progress, std::move(work));
        made["results"] = listed(found);
        made["query"] = query;
        made["provider"] = provider_->name();
        made["success"] = true;
    } catch (const fetch_error& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) co_return failed_search(query, provider_->name() + " could not be asked: " + problem);
    co_return made;
}

}  // namespace cmcp
