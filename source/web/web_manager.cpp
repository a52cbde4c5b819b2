#include "web/web_manager.hpp"

namespace cmcp {

web_manager::web_manager(const settings& chosen, sandbox::backend& backend, run_admission& runs, blocking_pool& pool,
                         asio::any_io_executor executor)
    : policy_(std::make_shared<egress_policy>(egress_policy::from_settings(chosen))),
      guard_(executor, policy_),
      client_(executor, chosen.web_ca_file),
      scraper_(chosen, client_, policy_, backend, runs, pool),
      searcher_(chosen, client_, backend, runs)
{
}

}  // namespace cmcp
