#pragma once

#include "cluster/forwarder.hpp"
#include "cluster/member_calls.hpp"
#include "cluster/members.hpp"

#include <memory>

namespace cmcp {

/// This server's side of a cluster: whom it knows, and the two ways to pass on what is not its own.
struct cluster {
    /// `config` names members, and must outlive this. Throws config_error.
    cluster(asio::any_io_executor executor, const settings& config)
        : all(config),
          links(std::make_shared<member_links>(executor, config)),
          requests(all, *links),
          calls(executor, config, all, links)
    {
    }
    cluster(const cluster&) = delete;
    cluster& operator=(const cluster&) = delete;

    members all;
    std::shared_ptr<member_links> links;
    forwarder requests;
    member_calls calls;
};

}  // namespace cmcp
