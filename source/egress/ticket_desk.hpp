#pragma once

#include "egress/egress_ticket.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp {

/// The tickets that the proxy takes, and the connections open under each.
class ticket_desk : public std::enable_shared_from_this<ticket_desk> {
public:
    /// The ticket ends with the last copy of what is returned: the desk forgets it and closes its connections.
    std::shared_ptr<egress_ticket> issue(std::string label, std::shared_ptr<const egress_policy> policy,
                                         egress_limits limits);

    /// The ticket that a Proxy-Authorization value belongs to (RFC 7617); nothing when it belongs to none.
    std::shared_ptr<egress_ticket> find(std::string_view authorization) const;

    /// `close` is called once when the ticket ends. Returns a number for forget().
    std::uint64_t when_ended(const egress_ticket& ticket, std::function<void()> close);
    void forget(const egress_ticket& ticket, std::uint64_t number);

private:
    struct entry {
        std::shared_ptr<egress_ticket> ticket;
        std::string authorization;
        std::map<std::uint64_t, std::function<void()>> open;
    };
    void end(const std::string& user);

    std::map<std::string, entry> entries_;  // by user
    std::uint64_t next_ = 0;
};

}  // namespace cmcp
