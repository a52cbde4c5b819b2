#include "egress/egress_guard.hpp"

#include "egress/dns_answer.hpp"
#include "egress/egress_connector.hpp"
#include "egress/proxy_connection.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_clients = 8192;
constexpr std::size_t most_of_sandbox = 256;  // a program can open them all at once, and they are for everybody
using client_taker = std::function<void(asio::ip::tcp::socket)>;

awaitable<> accept_all(asio::ip::tcp::acceptor door, client_taker take)
{
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer pause(executor);
    for (;;) {
        auto [failure, client] = co_await door.async_accept(as_tuple);
        if (failure == asio::error::operation_aborted) co_return;
        if (!failure) take(std::move(client));
        if (!failure) continue;
        // Mostly too many files are open, so trying again at once would only burn time.
        pause.expires_after(std::chrono::milliseconds(100));
        co_await pause.async_wait(asio::use_awaitable);
    }
}

// Nothing for a client at an address that stands for no name.
std::optional<egress_target> target_of_client(const asio::ip::tcp::socket& client, name_addresses& names)
{
    boost::system::error_code gone;
    const auto at = client.local_endpoint(gone);
    const auto name = gone ? std::nullopt : names.name_of(at.address());
    return name ? std::optional(egress_target{read_host(*name), at.port()}) : std::nullopt;
}

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

egress_guard::egress_guard(asio::any_io_executor executor, std::shared_ptr<const egress_policy> policy)
    : executor_(executor), tasks_(std::make_shared<task_group>(executor)), policy_(std::move(policy))
{
}

// Always within the event loop, because a posted cancellation may come after the end of its target.
void egress_guard::stop()
{
    asio::dispatch(executor_, [tasks = tasks_] { tasks->cancel_all(); });
}

std::shared_ptr<egress_ticket> egress_guard::issue(std::string label, std::shared_ptr<const egress_policy> policy,
                                                   egress_limits limits)
{
    auto ticket = std::make_shared<egress_ticket>(std::move(label), std::move(policy), limits);
    (*entries_)[ticket.get()].ticket = ticket;
    // The holder's pointer has a count of its own, so the pointers of connections do not keep the ticket valid.
    return {ticket.get(), [ticket, issued = std::weak_ptr(entries_)](egress_ticket* ended) {
                if (const auto still = issued.lock()) end(*still, ended);
            }};
}

void egress_guard::serve(asio::ip::tcp::socket client, const egress_ticket& ticket)
{
    serve(std::move(client), ticket, std::nullopt);
}

void egress_guard::serve(asio::ip::tcp::socket client, const egress_ticket& ticket, std::optional<egress_target> target)
{
    const auto at = entries_->find(&ticket);
    if (at == entries_->end() || tasks_->size() > most_clients) return;
    std::erase_if(at->second.open, [](const auto& each) { return each.expired(); });
    if (ticket.held_to_names() && at->second.open.size() >= most_of_sandbox) return;
    auto served = std::make_shared<proxy_connection>(std::move(client), at->second.ticket, std::move(target));
    at->second.open.push_back(served);
    tasks_->spawn("egress_client", proxy_connection::run(std::move(served)));
}

awaitable<> egress_guard::serve_door(asio::ip::tcp::acceptor door, holder of)
{
    client_taker take = [this, of = std::move(of)](asio::ip::tcp::socket client) {
        if (const auto ticket = of()) serve(std::move(client), *ticket);
    };
    co_await accept_all(std::move(door), std::move(take));
}

awaitable<> egress_guard::serve_named_door(asio::ip::tcp::acceptor door, std::shared_ptr<name_addresses> names,
                                           holder of)
{
    client_taker take = [this, names = std::move(names), of = std::move(of)](asio::ip::tcp::socket client) {
        const auto ticket = of();
        auto target = target_of_client(client, *names);
        if (ticket && target) serve(std::move(client), *ticket, std::move(target));
    };
    co_await accept_all(std::move(door), std::move(take));
}

void egress_guard::end(entries& of, const egress_ticket* ticket)
{
    const auto ended = of.extract(ticket);
    if (ended.empty()) return;
    ended.mapped().ticket->end();
    for (const auto& each : ended.mapped().open)
        if (const auto connection = each.lock()) connection->close();
}

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
