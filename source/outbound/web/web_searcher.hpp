#pragma once

#include "mcp/caller.hpp"
#include "mcp/request_io.hpp"
#include "web/http_client.hpp"
#include "web/search_provider.hpp"
#include "web/web_page_reader.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cmcp {

class progress_sender;
struct web_settings;

/// Asks the provider of WEB_SEARCH_PROVIDER. The operator chose its address, so that it may be private; a search
/// reaches no other address.
class web_searcher {
public:
    /// All must outlive this. Throws config_error when the settings contradict each other.
    web_searcher(const web_settings& config, http_client& client, web_page_reader& reader, blocking_pool& pool);

    /// {results: [{title, url, snippet}], query, provider}, or {success: false, error, results: [], query}.
    awaitable<json::object> search(caller who, request_io& io, std::string query, std::size_t max_results);

    /// Why nothing can be searched, a sentence; empty: there is a provider.
    std::string obstacle() const;

private:
    awaitable<search_results> ask(caller who, std::string call, progress_sender& progress, std::string query,
                                  std::size_t max_results);

    http_client& client_;
    std::unique_ptr<search_provider> provider_;
    std::shared_ptr<const egress_policy> policy_;
    web_page_reader& reader_;
    blocking_pool& pool_;
    std::uint64_t max_bytes_;
    std::chrono::milliseconds timeout_;
};

}  // namespace cmcp
