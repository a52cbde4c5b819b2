#pragma once

#include "async/task_group.hpp"
#include "cluster/member_loads.hpp"
#include "cluster/shared_holdings.hpp"
#include "cluster/shared_issuers.hpp"
#include "cluster/shared_keys.hpp"
#include "cluster/shared_quotas.hpp"

#include <functional>

namespace cmcp {

struct settings;

/// The server's part of what is in etcd.
struct reported_by_server {
    quotas& limits;  ///< count what is elsewhere from now on; outlive the cluster
    holdings_source holdings;
    std::function<json::object()> load;
};

/// What the servers of a cluster tell each other in etcd.
class shared_knowledge {
public:
    /// All must outlive this.
    shared_knowledge(asio::any_io_executor executor, etcd_client& etcd, const settings& config, members& all,
                     member_lease& lease, reported_by_server own);

    shared_holdings& holdings() { return holdings_; }
    member_loads& loads() { return loads_; }
    shared_logins logins();  ///< must not outlive this

    /// Tells and hears until the tasks are cancelled.
    void start(task_group& tasks);

private:
    awaitable<> run();
    awaitable<> tell();

    etcd_client& etcd_;
    member_lease& lease_;
    member_loads loads_;
    shared_holdings holdings_;
    shared_keys keys_;
    shared_issuers issuers_;
    shared_quotas quotas_;
    std::int64_t told_by_ = 0;  // the lease under which everything was told
};

}  // namespace cmcp
