#include "egress/dns_answer.hpp"
#include "egress/egress_connector.hpp"
#include "egress/egress_guard.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>

namespace cmcp {
namespace {

using asio::ip::udp;

// A program that asks for ever more names writes no more lines than its ticket keeps until they are taken.
bool judge_name(egress_ticket& ticket, const host& who)
{
    constexpr std::size_t most_noted = 32;
    const auto decision = ticket.policy()->judge(who);
    if (decision.allowed || decision.asks) return true;
    const auto is_it = [&](const egress_refusal& each) { return each.host == who.name && each.port == 0; };
    const auto& noted = ticket.refusals();
    if (noted.size() >= most_noted || std::ranges::any_of(noted, is_it)) return false;
    egress_audit(ticket, who, 0, "refused", decision.rule, {});
    ticket.add_refusal({who.name, 0, decision.rule, decision.sentence});
    return false;
}

}  // namespace

awaitable<> egress_guard::serve_names(udp::socket socket, std::shared_ptr<name_addresses> names, holder of)
{
    std::shared_ptr<egress_ticket> ticket;
    const name_judge judge = [&](const host& who) { return ticket && judge_name(*ticket, who); };
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
