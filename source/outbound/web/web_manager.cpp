#include "web/web_manager.hpp"

#include "config/settings.hpp"

namespace cmcp {

web_manager::web_manager(const settings& config, sandbox::backend& backend, run_admission& runs, blocking_pool& pool,
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

}  // namespace cmcp
