#include "egress/dns_answer.hpp"
#include "egress/egress_connector.hpp"
#include "egress/egress_guard.hpp"

#include <boost/asio/steady_timer.hpp>

#include <array>
#include <set>

namespace cmcp {
namespace {

using asio::ip::udp;

/// Judges names for a ticket. A refused name is told once to ticket and audit, because resolvers ask several times.
class told_names {
public:
    bool judge(egress_ticket* ticket, const host& who)
    {
        if (ticket == nullptr) return false;
        const auto verdict = ticket->policy().judge(who);
        if (verdict.allowed) refused_.erase(who.name);
        if (verdict.allowed) return true;
        if (refused_.size() >= most) refused_.clear();
        if (!refused_.insert(who.name).second) return false;
        egress_audit(*ticket, who, 0, "refused", verdict.rule, {});
        ticket->add_refusal({who.name, 0, verdict.rule, verdict.sentence});
        return false;
    }

private:
    static constexpr std::size_t most = 1024;
    std::set<std::string> refused_;
};

}  // namespace

awaitable<> egress_guard::serve_names(udp::socket socket, std::shared_ptr<name_addresses> names, holder of)
{
    told_names judged;
    std::shared_ptr<egress_ticket> ticket;
    const name_judge judge = [&](const host& who) { return judged.judge(ticket.get(), who); };
    asio::steady_timer pause(executor_);
    std::array<char, 4096> query;
    udp::endpoint client;
    boost::system::error_code lost;  // an answer that is lost is asked for again
    socket.non_blocking(true, lost);
    for (;;) {
        auto [failure, size] = co_await socket.async_receive_from(asio::buffer(query), client, as_tuple);
        if (failure == asio::error::operation_aborted) co_return;
        if (failure) {  // as in accept_all
            pause.expires_after(std::chrono::milliseconds(100));
            co_await pause.async_wait(asio::use_awaitable);
            continue;
        }
        ticket = of();
        const auto reply = answer_names({query.data(), size}, *names, judge);
        ticket.reset();
        if (reply) socket.send_to(asio::buffer(*reply), client, 0, lost);
    }
}

}  // namespace cmcp
