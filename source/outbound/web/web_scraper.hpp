#pragma once

#include "async/blocking_pool.hpp"
#include "mcp/caller.hpp"
#include "mcp/request_io.hpp"
#include "web/http_client.hpp"
#include "web/web_page_reader.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace cmcp {

class progress_sender;
struct settings;

struct scrape_request {
    std::string url;
    std::string format = "text";  ///< text, markdown, html, links
    std::optional<std::string> selector;
    std::size_t max_length = 100'000;  ///< characters
    std::optional<double> timeout;     ///< seconds, for everything
};

/// Fetches one page and takes the requested parts from it.
class web_scraper {
public:
    /// All must outlive this.
    web_scraper(const settings& config, http_client& client, std::shared_ptr<const egress_policy> policy,
                web_page_reader& reader, blocking_pool& pool);

    /// The result object of web_scrape: content, url, title, success, error, and more.
    awaitable<json::object> scrape(caller who, request_io& io, scrape_request request);

private:
    awaitable<json::object> attempt(caller who, request_io& io, progress_sender& progress, scrape_request request);
    awaitable<json::object> read_following(caller who, std::string call, progress_sender& progress,
                                           scrape_request request);
    awaitable<fetch_reply> fetch(caller who, std::string call, fetch_request request, progress_sender& progress);
    awaitable<json::object> read(caller who, progress_sender& progress, fetch_reply page, scrape_request request,
                                 std::chrono::milliseconds left);

    http_client& client_;
    std::shared_ptr<const egress_policy> policy_;
    blocking_pool& pool_;
    run_admission fetches_;
    web_page_reader& reader_;
    fetch_request model_;
    std::chrono::milliseconds longest_time_;
    std::chrono::milliseconds patience_of_user_;
};

}  // namespace cmcp
