#include "egress/egress_guard.hpp"

#include "egress/proxy_connection.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/steady_timer.hpp>

#include <openssl/crypto.h>

#include <utility>

namespace cmcp {

using tcp = asio::ip::tcp;

namespace {

constexpr std::size_t most_clients = 1024;
constexpr int queue_length = 128;

bool same(std::string_view a, std::string_view b)
{
    return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

egress_proxy::egress_proxy(asio::any_io_executor executor, std::shared_ptr<const egress_policy> rules)
    : acceptor_(executor), tasks_(executor), policy_(std::move(rules))
{
}

void egress_proxy::start()
{
    if (port_ != 0) return;
    const tcp::endpoint loopback(asio::ip::address_v4::loopback(), 0);
    acceptor_.open(loopback.protocol());
    acceptor_.bind(loopback);
    acceptor_.listen(queue_length);
    port_ = acceptor_.local_endpoint().port();
    tasks_.spawn("egress_guard", accept(shared_from_this()));
}

// Always within the event loop, because a posted cancellation may come after the end of its target.
void egress_proxy::stop()
{
    asio::dispatch(acceptor_.get_executor(), [self = shared_from_this()] {
        boost::system::error_code ignored;
        self->acceptor_.close(ignored);
        self->tasks_.cancel_all();
    });
}

awaitable<> egress_proxy::accept(std::shared_ptr<egress_proxy> self)
{
    asio::steady_timer pause(self->acceptor_.get_executor());
    for (;;) {
        auto [failure, client] = co_await self->acceptor_.async_accept(as_tuple);
        if (!self->acceptor_.is_open()) co_return;
        if (failure) {
            // Descriptors may be used up, and trying again at once would keep the thread busy.
            pause.expires_after(std::chrono::milliseconds(50));
            co_await pause.async_wait(as_tuple);
            continue;
        }
        if (self->tasks_.size() > most_clients) continue;
        auto served = std::make_shared<proxy_connection>(std::move(client), self);
        self->tasks_.spawn("egress_client", proxy_connection::run(std::move(served)));
    }
}

void egress_proxy::serve(tcp::socket client, const egress_ticket& ticket)
{
    if (tasks_.size() > most_clients) return;
    auto served = std::make_shared<proxy_connection>(std::move(client), shared_from_this());
    if (served->admit(ticket)) tasks_.spawn("egress_client", proxy_connection::run(std::move(served)));
}

std::shared_ptr<egress_ticket> egress_proxy::issue(std::string label, std::shared_ptr<const egress_policy> policy,
                                                   egress_limits limits)
{
    if (!policy) policy = policy_;
    auto ticket = std::make_shared<egress_ticket>(std::move(label), std::move(policy), limits);
    entries_[ticket->user()] = {ticket, ticket->proxy_authorization(), {}};
    // The holder's pointer has a count of its own, so the pointers of connections do not keep the ticket valid.
    return {ticket.get(), [ticket, issuer = weak_from_this()](egress_ticket* ended) {
                if (const auto still = issuer.lock()) still->end(ended->user());
            }};
}

std::shared_ptr<egress_ticket> egress_proxy::find(std::string_view authorization) const
{
    for (const auto& [user, one] : entries_)
        if (same(one.authorization, authorization)) return one.ticket;
    return nullptr;
}

void egress_proxy::add(const egress_ticket& ticket, const std::shared_ptr<proxy_connection>& connection)
{
    const auto at = entries_.find(ticket.user());
    if (at == entries_.end()) return;
    std::erase_if(at->second.open, [](const auto& each) { return each.expired(); });
    at->second.open.push_back(connection);
}

void egress_proxy::end(const std::string& user)
{
    const auto ended = entries_.extract(user);
    if (ended.empty()) return;
    for (const auto& each : ended.mapped().open)
        if (const auto connection = each.lock()) connection->close();
}

}  // namespace cmcp
