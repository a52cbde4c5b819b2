#include "egress/ticket_desk.hpp"

#include "egress/proxy_connection.hpp"

#include <openssl/crypto.h>

#include <utility>

namespace cmcp {
namespace {

bool same(std::string_view a, std::string_view b)
{
    return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::shared_ptr<egress_ticket> ticket_desk::issue(std::string label, std::shared_ptr<const egress_policy> policy,
                                                  egress_limits limits)
{
    auto ticket = std::make_shared<egress_ticket>(std::move(label), std::move(policy), limits);
    entries_[ticket->user()] = {ticket, ticket->proxy_authorization(), {}};
    // The holder's pointer has a count of its own, so the pointers of connections do not keep the ticket valid.
    return {ticket.get(), [ticket, desk = weak_from_this()](egress_ticket* ended) {
                if (const auto still = desk.lock()) still->end(ended->user());
            }};
}

std::shared_ptr<egress_ticket> ticket_desk::find(std::string_view authorization) const
{
    for (const auto& [user, one] : entries_)
        if (same(one.authorization, authorization)) return one.ticket;
    return nullptr;
}

void ticket_desk::add(const egress_ticket& ticket, const std::shared_ptr<proxy_connection>& connection)
{
    const auto at = entries_.find(ticket.user());
    if (at == entries_.end()) return;
    std::erase_if(at->second.open, [](const auto& each) { return each.expired(); });
    at->second.open.push_back(connection);
}

void ticket_desk::end(const std::string& user)
{
    const auto ended = entries_.extract(user);
    if (ended.empty()) return;
    for (const auto& each : ended.mapped().open)
        if (const auto connection = each.lock()) connection->close();
}

}  // namespace cmcp
