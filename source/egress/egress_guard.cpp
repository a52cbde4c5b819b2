#include "egress/egress_guard.hpp"

#include "async/task_group.hpp"
#include "egress/proxy_connection.hpp"
#include "egress/ticket_desk.hpp"
#include "log/log.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <optional>

namespace cmcp {

using tcp = asio::ip::tcp;

namespace {

constexpr std::size_t most_clients = 1024;
constexpr int queue_length = 128;

}  // namespace

class egress_guard::proxy : public std::enable_shared_from_this<proxy> {
public:
    proxy(asio::any_io_executor executor, std::shared_ptr<const egress_policy> rules)
        : acceptor(executor), tasks(executor), policy(std::move(rules))
    {
    }

    void start()
    {
        const tcp::endpoint loopback(asio::ip::address_v4::loopback(), 0);
        acceptor.open(loopback.protocol());
        acceptor.bind(loopback);
        acceptor.listen(queue_length);
        port = acceptor.local_endpoint().port();
        tasks.spawn("egress_guard", accept(shared_from_this()));
    }

    // Always within the event loop, because a posted cancellation may come after the end of its target.
    void stop()
    {
        asio::dispatch(acceptor.get_executor(), [self = shared_from_this()] {
            boost::system::error_code ignored;
            self->acceptor.close(ignored);
            self->tasks.cancel_all();
        });
    }

    // Descriptors may be used up, and trying again at once would keep the thread busy.
    awaitable<> rest()
    {
        asio::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(50));
        co_await pause.async_wait(as_tuple);
    }

    static awaitable<> accept(std::shared_ptr<proxy> self)
    {
        for (;;) {
            auto [failure, client] = co_await self->acceptor.async_accept(as_tuple);
            if (!self->acceptor.is_open()) co_return;
            if (failure) co_await self->rest();
            if (failure || self->tasks.size() > most_clients) continue;
            self->serve(std::make_shared<proxy_connection>(std::move(client), self->desk));
        }
    }

    void serve(std::shared_ptr<proxy_connection> client)
    {
        tasks.spawn("egress_client", proxy_connection::run(std::move(client)));
    }

    tcp::acceptor acceptor;
    task_group tasks;
    std::shared_ptr<ticket_desk> desk = std::make_shared<ticket_desk>();
    std::shared_ptr<const egress_policy> policy;
    std::uint16_t port = 0;
};

egress_guard::egress_guard(asio::any_io_executor executor, std::shared_ptr<const egress_policy> policy)
    : proxy_(std::make_shared<proxy>(executor, std::move(policy)))
{
}

// NOLINTNEXTLINE(bugprone-exception-escape): a server without memory for this ends
egress_guard::~egress_guard() { stop(); }

void egress_guard::start()
{
    if (proxy_->port == 0) proxy_->start();
}

void egress_guard::serve(tcp::socket client, const std::shared_ptr<egress_ticket>& ticket)
{
    if (proxy_->tasks.size() > most_clients) return;
    auto served = std::make_shared<proxy_connection>(std::move(client), proxy_->desk);
    if (served->admit(*ticket)) proxy_->serve(std::move(served));
}

std::uint16_t egress_guard::port() const { return proxy_->port; }

void egress_guard::stop() { proxy_->stop(); }

std::shared_ptr<egress_ticket> egress_guard::issue(std::string label, egress_limits limits)
{
    return issue(std::move(label), proxy_->policy, limits);
}

std::shared_ptr<egress_ticket> egress_guard::issue(std::string label, std::shared_ptr<const egress_policy> policy,
                                                   egress_limits limits)
{
    return proxy_->desk->issue(std::move(label), std::move(policy), limits);
}

}  // namespace cmcp
