#pragma once

#include "egress/egress_ticket.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

class proxy_connection;

/// The tickets that the proxy takes, and the connections open under each.
class ticket_desk : public std::enable_shared_from_this<ticket_desk> {
public:
    /// The ticket ends with the last copy of the pointer: the desk forgets it and closes its connections.
    std::shared_ptr<egress_ticket> issue(std::string label, std::shared_ptr<const egress_policy> policy,
                                         egress_limits limits);

    /// The ticket that a Proxy-Authorization value belongs to (RFC 7617); nothing when it belongs to none.
    std::shared_ptr<egress_ticket> find(std::string_view authorization) const;

    /// The connection is closed when the ticket ends.
    void add(const egress_ticket& ticket, const std::shared_ptr<proxy_connection>& connection);

private:
    struct entry {
        std::shared_ptr<egress_ticket> ticket;
        std::string authorization;
        std::vector<std::weak_ptr<proxy_connection>> open;
    };
    void end(const std::string& user);

    std::map<std::string, entry> entries_;  // by user
};

}  // namespace cmcp
