#pragma once

#include "async/asio.hpp"
#include "config/settings.hpp"
#include "web/http_client.hpp"
#include "web/web_page_reader.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

struct search_result {
    std::string title;
    std::string url;
    std::string snippet;
};
using search_results = std::vector<search_result>;

/// Parses a page in the sandbox, for providers that answer in HTML.
using page_parser = std::function<awaitable<json::object>(std::string page, page_wish wish)>;

/// One search service: how it is asked and what its answers mean.
class search_provider {
public:
    virtual ~search_provider() = default;

    virtual std::string name() const = 0;
    virtual web_url address() const = 0;  ///< of the service: the only place that is reached
    virtual fetch_request request(const std::string& query, std::size_t max_results) const = 0;

    /// Throws fetch_error with what the service complains about.
    virtual awaitable<search_results> read(fetch_reply reply, page_parser parse) const = 0;
};

/// The one that WEB_SEARCH_PROVIDER names; null for "none". Throws config_error when WEB_SEARCH_URL or WEB_SEARCH_KEY
/// is missing or wrong.
std::unique_ptr<search_provider> make_search_provider(const settings& chosen);

/// Each page once (the first mention counts), only http and https, texts tidied and cut, at most `most`.
search_results tidied(search_results found, std::size_t most);

}  // namespace cmcp
