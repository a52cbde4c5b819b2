#pragma once

#include "async/asio.hpp"
#include "async/blocking_pool.hpp"
#include "web/http_client.hpp"
#include "web/web_page_reader.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

struct web_settings;

struct search_result {
    std::string title;
    std::string url;
    std::string snippet;
};
using search_results = std::vector<search_result>;

/// Parses a page in the sandbox, for providers that answer in HTML.
using page_parser = std::function<awaitable<json::object>(std::string page, page_wish wish)>;

/// Where long answers are read.
struct reading_context {
    blocking_pool& pool;
    std::string principal;
};

/// A search service: its requests and the meaning of its answers.
class search_provider {
public:
    search_provider(std::string name, web_url address) : name_(std::move(name)), address_(std::move(address)) {}
    search_provider(const search_provider&) = delete;
    search_provider& operator=(const search_provider&) = delete;
    virtual ~search_provider() = default;

    const std::string& name() const { return name_; }
    const web_url& address() const { return address_; }  ///< of the service: the only address that is reached
    virtual fetch_request request(const std::string& query, std::size_t max_results) const = 0;

    /// On `by` where the answer is long. Throws fetch_error with the complaint of the service.
    virtual awaitable<search_results> read(fetch_reply reply, page_parser parse, reading_context by) const = 0;

private:
    std::string name_;
    web_url address_;
};

/// The provider that WEB_SEARCH_PROVIDER names; null for "none". Throws config_error when WEB_SEARCH_URL or
/// WEB_SEARCH_KEY is missing or wrong.
std::unique_ptr<search_provider> make_search_provider(const web_settings& config);

/// Each page once (the first mention counts), only http and https, texts tidied and cut, at most `most`.
search_results tidied(search_results all, std::size_t most);

}  // namespace cmcp
