#pragma once

#include "cluster/handle_locations.hpp"
#include "cluster/member_links.hpp"
#include "cluster/members.hpp"
#include "http/member_gateway.hpp"

#include <memory>

namespace cmcp {

/// Passes whole requests of HTTP on to the member whose handle they name: sessions, calls of REST, files, shells, shown
/// ports. Asks all members for what they show together.
class forwarder final : public member_gateway {
public:
    /// All must outlive this.
    forwarder(const members& all, std::shared_ptr<member_links> links, handle_locations& places)
        : members_(all), links_(std::move(links)), places_(places)
    {
    }

    bool is_elsewhere(const http_request& request) const override;
    awaitable<bool> pass_on(exchange& x) override;
    awaitable<> turn_away(exchange& x) override;
    bool is_member(std::string_view name) const override { return members_.other(name) != nullptr; }
    std::vector<std::string> others() const override;
    awaitable<std::vector<member_answer>> ask(const http_request& by, member_question question) override;

private:
    class passed_request;
    bool is_misdirected(const http_request& request) const;
    std::string node_of(const http_request& request) const;
    awaitable<bool> pass_along(exchange& x, std::string handle);
    const cluster_member* behind(const http_request& request) const;
    awaitable<> pass_between(exchange& x, cluster_member to);

    const members& members_;
    std::shared_ptr<member_links> links_;
    handle_locations& places_;
};

}  // namespace cmcp
