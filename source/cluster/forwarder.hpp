#pragma once

#include "cluster/member_links.hpp"
#include "cluster/members.hpp"
#include "http/member_gateway.hpp"

namespace cmcp {

/// Passes whole requests of HTTP on to the member whose handle they name: sessions, files, shells, shown ports.
class forwarder final : public member_gateway {
public:
    /// Both must outlive this.
    forwarder(const members& all, member_links& links) : members_(all), links_(links) {}

    bool is_elsewhere(const http_request& request) const override;
    awaitable<> pass_on(exchange& x) override;

private:
    const cluster_member* owner_of(const http_request& request) const;
    awaitable<std::string> pass_to(exchange& x, cluster_member owner);

    const members& members_;
    member_links& links_;
};

}  // namespace cmcp
