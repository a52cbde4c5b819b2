#pragma once

#include "async/blocking_pool.hpp"
#include "egress/egress_guard.hpp"
#include "web/http_client.hpp"
#include "web/web_scraper.hpp"
#include "web/web_searcher.hpp"

#include <memory>

namespace cmcp {

struct settings;

/// The web tools, and the parts that they share: one policy, one guard, one client, one reader of pages.
struct web_manager {
    /// All must outlive this. Throws config_error when the web settings cannot be used.
    web_manager(const settings& config, sandbox::backend& backend, run_admission& runs, blocking_pool& pool,
                asio::any_io_executor executor);

    std::shared_ptr<egress_policy> policy;  ///< may be replaced by another one
    egress_guard guard;                     ///< the proxy for programs that use one
    http_client client;
    web_page_reader reader;
    web_scraper scraper;
    web_searcher searcher;
};

}  // namespace cmcp
