#pragma once

#include "cluster/handle_places.hpp"
#include "cluster/member_links.hpp"
#include "cluster/members.hpp"
#include "http/member_gateway.hpp"

#include <memory>

namespace cmcp {

/// Passes whole requests of HTTP on to the member whose handle they name: sessions, files, shells, shown ports. Asks
/// all members for what they show together.
class forwarder final : public member_gateway {
public:
    /// All must outlive this.
    forwarder(const members& all, std::shared_ptr<member_links> links, handle_places& places)
        : members_(all), links_(std::move(links)), places_(places)
    {
    }

    bool is_elsewhere(const http_request& request) const override;
    awaitable<bool> pass_on(exchange& x) override;
    std::vector<std::string> others() const override;
    awaitable<std::vector<member_answer>> ask(const http_request& by, member_question question) override;

private:
    const cluster_member* owner_of(const http_request& request) const;
    bool is_on_its_way(const http_request& request) const;
    struct outcome {
        std::string problem;  // a sentence why there is no answer; empty: there is one
        bool is_reached = true;
    };
    awaitable<outcome> pass_to(exchange& x, cluster_member owner);
    awaitable<> refuse(exchange& x, std::string problem);

    const members& members_;
    std::shared_ptr<member_links> links_;
    handle_places& places_;
};

}  // namespace cmcp
