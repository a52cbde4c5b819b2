#pragma once

#include "async/blocking_pool.hpp"
#include "config/settings.hpp"
#include "egress/egress_guard.hpp"
#include "web/http_client.hpp"
#include "web/web_scraper.hpp"
#include "web/web_searcher.hpp"

#include <memory>

namespace cmcp {

/// The web tools, and the parts that they share: one policy, one guard, one client, one reader of pages.
struct web_manager {
    /// All must outlive this. Throws config_error when the web settings cannot be used.
    web_manager(const settings& config, sandbox::backend& backend, run_admission& runs, blocking_pool& pool,
                asio::any_io_executor executor)
        : policy(std::make_shared<egress_policy>(egress_policy::from_settings(config))),
          guard(executor, policy),
          client(executor, config.web_ca_file),
          reader(config, backend, runs, pool),
          scraper(config, client, policy, reader, pool),
          searcher(config, client, reader, pool)
    {
        client.unpack_on(pool);
    }

    std::shared_ptr<egress_policy> policy;  ///< may be replaced by another one in its place
    egress_guard guard;                     ///< the proxy for programs that use one
    http_client client;
    web_page_reader reader;
    web_scraper scraper;
    web_searcher searcher;
};

}  // namespace cmcp
