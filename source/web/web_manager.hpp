#pragma once

#include "async/blocking_pool.hpp"
#include "config/settings.hpp"
#include "egress/egress_guard.hpp"
#include "web/http_client.hpp"
#include "web/web_scraper.hpp"
#include "web/web_searcher.hpp"

namespace cmcp {

/// The web tools' common ground: one policy, one guard, one client.
class web_manager {
public:
    /// All must outlive this. Throws config_error when the web settings cannot be used.
    web_manager(const settings& chosen, sandbox::backend& backend, run_admission& runs, blocking_pool& pool,
                asio::any_io_executor executor);

    web_scraper& scraper() { return scraper_; }
    web_searcher& searcher() { return searcher_; }

    /// The proxy for programs that are told to use one. It listens after its start().
    egress_guard& guard() { return guard_; }

private:
    std::shared_ptr<const egress_policy> policy_;
    egress_guard guard_;
    http_client client_;
    web_scraper scraper_;
    web_searcher searcher_;
};

}  // namespace cmcp
