#include "egress/ticket_desk.hpp"

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
    auto made = std::make_shared<egress_ticket>(std::move(label), std::move(policy), limits);
    entries_[made->user()] = {made, made->proxy_authorization(), {}};
    // The holder's pointer counts by itself: connections of the proxy hold the inner one and do not keep the ticket
    // valid.
    return {made.get(), [made, desk = weak_from_this()](egress_ticket* ended) {
                if (const auto still = desk.lock()) still->end(ended->user());
            }};
}

std::shared_ptr<egress_ticket> ticket_desk::find(std::string_view authorization) const
{
    for (const auto& [user, one] : entries_)
        if (same(one.authorization, authorization)) return one.ticket;
    return nullptr;
}

std::uint64_t ticket_desk::when_ended(const egress_ticket& ticket, std::function<void()> close)
{
    const auto at = entries_.find(ticket.user());
    if (at != entries_.end()) at->second.open.emplace(++next_, std::move(close));
    return next_;
}

void ticket_desk::forget(const egress_ticket& ticket, std::uint64_t number)
{
    const auto at = entries_.find(ticket.user());
    if (at != entries_.end()) at->second.open.erase(number);
}

void ticket_desk::end(const std::string& user)
{
    auto ended = entries_.extract(user);
    if (ended.empty()) return;
    for (const auto& [number, close] : ended.mapped().open) close();
}

}  // namespace cmcp
